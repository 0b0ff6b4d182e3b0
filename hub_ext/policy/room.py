"""Which leases still hold devices at an instant to come, and whether reserved times find room.

Pure; reservations and admission both ask here, so that they never disagree.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from ..lease import Device, DeviceId, LeaseState, OpenLease, Standing
from ..lease.reserving import ReservationId, Reserved
from ..mig.alone import pick_alone
from ..mig.placement import pick
from .model import Policy


def declared_end(lease: OpenLease) -> datetime | None:
    """When a lease ends as far as it is announced or declared; None where nothing says."""
    ends = [lease.ends_at, lease.notice.stops_at if lease.notice is not None else None]
    return min((end for end in ends if end is not None), default=None)


def stays(lease: OpenLease, at: datetime) -> bool:
    """Whether a lease still holds its devices at an instant, as far as it is declared."""
    if not lease.holding or lease.state in {LeaseState.held, LeaseState.stopping}:
        # What is held begins with an end that heeds every reservation.
        return False
    end = declared_end(lease)
    return end is None or end > at


def may_be_drained(policy: Policy, lease: OpenLease, start: datetime, now: datetime) -> bool:
    """Whether a borrowed lease may be called in in time for a reservation that starts then.

    Nobody is stopped for it where quota is only observed or advised.
    """
    if lease.standing is not Standing.borrowed or lease.pool not in policy.pools:
        return False
    if policy.modes.quota != "enforce":
        return False
    pool = policy.pools[lease.pool]
    since = lease.assigned_at or lease.requested_at
    return pool.reclaim and max(now, since + pool.min_runtime) + pool.notice <= start


def held_devices(leases: Iterable[OpenLease]) -> tuple[Device, ...]:
    """All devices that leases have, with what is kept empty beside them."""
    return tuple(device for lease in leases for device in (*lease.devices, *lease.rest))


def room_for(
    devices: Sequence[Device],
    taken: Iterable[Device],
    wanted: Iterable[Reserved],
    owners: Mapping[DeviceId, str],
) -> dict[ReservationId, tuple[Device, ...]] | None:
    """Place several reserved times beside each other; None where one finds nothing.

    The larger comes first, then the earlier. What is kept for one already is its own.

    Parameters
    ----------
    owners
        Project of each device that is kept for one: it gets these alone, and nobody else does.
    """
    ordered = sorted(wanted, key=lambda one: (not one.devices, -one.units, one.start, one.id))
    gone = list(taken)
    placed: dict[ReservationId, tuple[Device, ...]] = {}
    for one in ordered:
        mine = open_to(devices, one.project, owners)
        barred = [] if len(mine) == len(devices) else [x for x in devices if x not in mine]
        found = one.devices or _placed(mine, [*gone, *barred], one)
        if not found:
            return None
        placed[one.id] = found
        gone.extend(found)
    return placed


def open_to(
    devices: Sequence[Device], project: str | None, owners: Mapping[DeviceId, str]
) -> tuple[Device, ...]:
    """Leave out what is kept for others; for a project with devices here, all but those."""
    if not owners:
        return tuple(devices)
    own = tuple(one for one in devices if project and owners.get(one.id) == project)
    return own or tuple(one for one in devices if one.id not in owners)


def _placed(
    devices: Sequence[Device], taken: Sequence[Device], one: Reserved
) -> tuple[Device, ...]:
    gpus = int(one.flavor[4:]) if one.flavor.startswith("gpu-") else 0
    profile = None if gpus else one.flavor
    if one.alone is not None:
        whole = pick_alone(
            devices, taken, one.alone, gpus=gpus, mig_profile=profile, most_units=one.units
        )
        return () if whole is None else (*whole.devices, *whole.rest)
    held = frozenset(device.id for device in taken)
    return pick(devices, held, gpus=gpus, mig_profile=profile) or ()


SHORTEST = timedelta(minutes=10)
"""A server that could live for less before a reservation begins is not started."""
