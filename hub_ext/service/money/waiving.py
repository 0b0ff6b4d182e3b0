"""Time that no team pays: of a device at fault, from the first sign until it is well or given up.

Also what a step of the clock made of nothing. It writes stretches of time into the lease;
metering makes lines of their own of them.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from ...lease import DeviceId, LeaseId, OpenLease, Outage, Stretch
from ..books.desk import Turn

_NONE = timedelta(0)


def begin(turn: Turn, outages: Iterable[Outage]) -> None:
    """Waive what is charged for leases on devices that were just found at fault."""
    since = {one.device: one.since or one.at for one in outages if one.cause == "faulty"}
    if not since:
        return
    for lease in turn.tx.leases():
        mine = [since[one] for one in _devices(turn, lease) if one in since]
        if mine and lease.holding and lease.assigned_at is not None and not _running(lease):
            start = _within(lease, lease.assigned_at, min(mine), turn.now)
            turn.record(lease.model_copy(update={"waived": (*lease.waived, Stretch(start=start))}))


def finish(turn: Turn, devices: Collection[DeviceId]) -> None:
    """End that for leases all of whose devices are well again."""
    at_fault = {
        device
        for device, outage in turn.desk.outages.devices.items()
        if outage.cause == "faulty" and device not in devices
    }
    for lease in turn.tx.leases():
        mine = _devices(turn, lease)
        if not _running(lease) or not mine & set(devices) or mine & at_fault:
            continue
        last = lease.waived[-1]
        ended = last.model_copy(update={"end": max(turn.now, last.start)})
        turn.record(lease.model_copy(update={"waived": (*lease.waived[:-1], ended)}))


def step(turn: Turn, by: timedelta) -> dict[LeaseId, timedelta]:
    """Waive what a step forward of the clock, just now, adds to whoever holds devices.

    A step forward that mends one back adds nothing. Returns by how much the clock is behind for
    each lease afterwards.
    """
    behind: dict[LeaseId, timedelta] = {}
    for lease in turn.tx.leases():
        if not lease.holding or lease.assigned_at is None:
            continue
        ahead = by - turn.desk.behind.get(lease.id, _NONE)
        behind[lease.id] = max(-ahead, _NONE)
        if ahead > _NONE and not _running(lease):
            start = _within(lease, lease.assigned_at, turn.now - ahead, turn.now)
            stretch = Stretch(start=start, end=turn.now)
            turn.record(lease.model_copy(update={"waived": (*lease.waived, stretch)}))
    return behind


def _devices(turn: Turn, lease: OpenLease) -> set[DeviceId]:
    """Give the real devices of a lease and the GPUs whose shares they are.

    While they are not known, these are the places that it holds.
    """
    held = turn.desk.held_for.devices(lease, turn.now)
    return {name for device in held for name in (device.id, device.driver_id)}


def _running(lease: OpenLease) -> bool:
    return bool(lease.waived) and lease.waived[-1].end is None


def _within(lease: OpenLease, earliest: datetime, at: datetime, now: datetime) -> datetime:
    """Keep a first sign between what was waived before and now, whatever a clock said."""
    before = lease.waived[-1].end if lease.waived else None
    return max(earliest, before or earliest, min(at, now))
