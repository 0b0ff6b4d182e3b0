"""What is announced for an instant bounds leases that would run into it; decided here alone.

Maintenance is; reservations are bounds of their own, joined to these by whoever decides.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from ..i18n import _
from ..lease import DeviceId, Maintenance, OpenLease, Reason, local_text
from ..policy.catalogue import Resolved
from .crossing import crossing_words, in_the_way
from .decision import Admitted
from .snapshot import Demand, Scene, Snapshot, scene, waiting_demand


def bounded(view: Scene, _demand: Demand, admitted: Admitted) -> Admitted:
    """Let a lease end where maintenance of one of its devices begins."""
    for window in _coming(view.snapshot):
        if any(window.covers(device) for device in admitted.devices):
            why = maintenance_words(window, view.policy.timezone)
            admitted = admitted.until(window.start, why)
    return admitted


def bound_of(snapshot: Snapshot, lease: OpenLease) -> tuple[datetime | None, str]:
    """Latest end that a running lease can reach by what is announced now, and why; None if any."""
    if lease.pool is None or lease.pool not in snapshot.policy.pools:
        return None, ""
    view = scene(snapshot, lease.pool, without=lease.key, lease_id=lease.id)
    present = Admitted(
        standing=lease.standing, devices=lease.devices, reason=Reason(code="runs", message="")
    )
    demand = waiting_demand(lease, lease.pool)
    found = bounded(view, demand, present)
    reserved = in_the_way(view, demand, lease.devices)
    if reserved is not None:
        words = crossing_words(reserved, snapshot.policy.timezone)
        found = found.until(reserved.start, words)
    return found.ends_by, found.ends_why


def avoiding(view: Scene) -> Iterator[frozenset[DeviceId]]:
    """Give the devices to be left aside, the most careful choice first, at last none.

    A lease shall not be shortened while a device is free whose maintenance is later, or for which
    none is announced.
    """
    coming = _coming(view.snapshot)
    for bar in sorted({window.start for window in coming}, reverse=True):
        early = [window for window in coming if window.start <= bar]
        yield frozenset(
            device.id for device in view.devices if any(one.covers(device) for one in early)
        )
    yield frozenset()


def over_at(view: Scene) -> datetime | None:
    """When the first maintenance is over that keeps devices of the pool away now; None if none."""
    at, ahead = view.snapshot.at, view.policy.notice.lifetime
    ends = [
        window.end
        for window in _coming(view.snapshot)
        if window.closes(at, ahead) and any(window.covers(device) for device in view.declared)
    ]
    return min(ends, default=None)


def told(admitted: Admitted, resolved: Resolved, at: datetime, zone: str) -> Admitted:
    """Add to the reason that the lease ends early, where it would live longer than it can."""
    end = admitted.ends_by
    if end is None or at + resolved.lifetime <= end:
        return admitted
    words = _("{why} So this server ends at {at} at the latest.").format(
        why=admitted.ends_why, at=local_text(end, zone)
    )
    reason = admitted.reason.model_copy(
        update={
            "message": f"{admitted.reason.message} {words}",
            "figures": {**admitted.reason.figures, "ends_by": end.isoformat()},
        }
    )
    return admitted.model_copy(update={"reason": reason})


def maintenance_words(window: Maintenance, zone: str) -> str:
    """Say in a sentence what is announced, for when, and why."""
    places = {"pool": _("pool"), "node": _("machine"), "device": _("device")}
    return _("Maintenance of {place} {name} is announced from {start} to {end}: {why}.").format(
        place=places[window.place],
        name=window.name,
        start=local_text(window.start, zone),
        end=local_text(window.end, zone),
        why=window.reason.rstrip("."),
    )


def first_of(windows: Iterable[Maintenance]) -> Maintenance | None:
    """The one that begins first."""
    return min(windows, key=lambda one: (one.start, one.end, one.id), default=None)


def _coming(snapshot: Snapshot) -> tuple[Maintenance, ...]:
    return tuple(one for one in snapshot.maintenance if one.end > snapshot.at)
