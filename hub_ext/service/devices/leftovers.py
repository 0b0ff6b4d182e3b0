"""What may be left of an ended server on its device: a process, or memory that is still held.

A device changes team only once a reading after the end shows neither. Its own team has it at once.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from ...i18n import _
from ...idle import STALE_PERIODS
from ...lease import DeviceSample, OpenLease, StrayProcess
from ..books.desk import Desk
from ..books.outages import Unclean
from ..books.slots import SLOT

LEAST_LEFT_BYTES = 1024**3
"""Less than this is the driver's own."""

_DEFAULT_PERIOD_S = 5.0

_MOST_NAMED = 5
"""Processes that are named; more are counted."""


def not_empty(sample: DeviceSample) -> bool:
    """Whether memory of a device is held; a figure that is missing says nothing."""
    used, total = sample.memory_used_bytes, sample.memory_total_bytes
    return used is not None and used > max(LEAST_LEFT_BYTES, (total or 0) // 50)


def left(sample: DeviceSample, strays: Collection[StrayProcess] = ()) -> bool | None:
    """Whether something is left on a free device; None where it cannot be told.

    Parameters
    ----------
    strays
        Processes on it that belong to no lease of it.
    """
    if not_empty(sample) or sample.processes or strays:
        return True
    if sample.memory_used_bytes is None:
        # That nothing computes there does not say that its memory is free.
        return None
    return False


def words(sample: DeviceSample, strays: Collection[StrayProcess]) -> str:
    """Say what is left, and what to do."""
    named = ", ".join(str(one.pid) for one in sorted(strays, key=lambda x: x.pid)[:_MOST_NAMED])
    if named:
        return _("process {pids} uses it though no lease has it; end that process").format(
            pids=named
        )
    if not_empty(sample):
        return _(
            "{used} MiB of its memory are held though no lease has it; end the process that "
            "has them"
        ).format(used=(sample.memory_used_bytes or 0) // 2**20)
    return _("{n} processes use it though no lease has it; end them").format(n=sample.processes)


def note(desk: Desk, lease: OpenLease, *, now: datetime) -> None:
    """Keep the devices of a lease that ends for its team, where they were in use just now."""
    for device in lease.devices:
        if device.shared_by is not None or device.id.startswith(SLOT):
            # No memory of its own, and no device that anybody here reads.
            continue
        period = timedelta(seconds=desk.floor.period_s(device.node) or _DEFAULT_PERIOD_S)
        series = desk.samples.recent(device.id, now - STALE_PERIODS * period)
        last = max(series, key=lambda one: one.at, default=None)
        if last is not None and left(last):
            desk.outages.unclean[device.id] = Unclean(lease.team, now)
        else:
            desk.outages.unclean.pop(device.id, None)
