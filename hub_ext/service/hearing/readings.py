"""Readings of one lease from the samples: the newest for the panel, a series for the idle rule.

Missing or old is unknown and says why; it is never 0.
"""

from datetime import datetime, timedelta

from ...i18n import _
from ...idle import STALE_PERIODS, Readings
from ...lease import Device, DeviceReading, DeviceSample, OpenLease, ProcessSample
from ..books.desk import Desk

_DEFAULT_PERIOD_S = 5.0
"""Period that is assumed before an agent has told its own: that of NVML."""


def newest(desk: Desk, lease: OpenLease, now: datetime) -> tuple[DeviceReading, ...]:
    """Show the newest figures of each device of a lease."""
    found = []
    for device in desk.held_for.devices(lease, now):
        period = timedelta(seconds=_period_s(desk, device.node))
        series = desk.samples.recent(device.id, now - STALE_PERIODS * period)
        last = max((one for one in series if one.at <= now), key=_at, default=None)
        found.append(_reading(device, last, desk.floor.source(device.node)))
    return tuple(found)


def gathered(desk: Desk, lease: OpenLease, since: datetime, now: datetime) -> Readings:
    """Gather what the idle rule hears: one series a device, and the processes."""
    held = desk.held_for.devices(lease, now)
    nodes = [device.node for device in held]
    return Readings(
        devices=tuple(tuple(desk.samples.recent(device.id, since)) for device in held),
        processes=tuple(desk.samples.recent_processes(lease.id, since)),
        period_s=max((_period_s(desk, node) for node in nodes), default=_slowest_s(desk)),
        source=desk.floor.source(nodes[0]) if nodes else "process",
        activity=desk.activity.of(lease, now),
    )


def title_of(device: Device) -> str:
    """Name a device for its holder."""
    if device.mig_profile is not None:
        return _("MIG {profile} on GPU {gpu} of {node}").format(
            profile=device.mig_profile, gpu=device.gpu, node=device.node
        )
    if device.shared_by is not None:
        return _("{model}, GPU {gpu} of {node}, shared by up to {n}").format(
            model=device.model, gpu=device.gpu, node=device.node, n=device.shared_by
        )
    return _("{model}, GPU {gpu} of {node}").format(
        model=device.model, gpu=device.gpu, node=device.node
    )


def _reading(device: Device, sample: DeviceSample | None, source: str) -> DeviceReading:
    if sample is None:
        return DeviceReading(
            device=device.id,
            title=title_of(device),
            at=None,
            util_percent=None,
            memory_used_bytes=None,
            memory_total_bytes=None,
            source=source or "none",
            absent=_("no fresh reading; the agent of {node} may be away").format(node=device.node),
        )
    return DeviceReading(
        device=device.id,
        title=title_of(device),
        at=sample.at,
        util_percent=sample.util_percent,
        memory_used_bytes=sample.memory_used_bytes,
        memory_total_bytes=sample.memory_total_bytes,
        source=source or "none",
        absent=sample.absent,
    )


def _at(sample: DeviceSample | ProcessSample) -> datetime:
    return sample.at


def _period_s(desk: Desk, node: str) -> float:
    return desk.floor.period_s(node) or _DEFAULT_PERIOD_S


def _slowest_s(desk: Desk) -> float:
    return desk.floor.slowest_s() or _DEFAULT_PERIOD_S
