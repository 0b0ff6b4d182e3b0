"""Borrowed leases that are called in for a reservation, with notice before its start.

It only names them; the round that gives every notice asks `closures`. Guaranteed leases never are.
"""

from datetime import datetime, timedelta

from ...lease import LeaseId, OpenLease, Standing
from ...lease.reserving import Reserved
from ...policy.model import Policy
from ...policy.room import held_devices, room_for, stays
from ..books.desk import Turn
from ..devices.closures import RESERVED

_EARLY = timedelta(minutes=1)
"""So much before the notice has to be given they are named: it is given in the next round."""


def drained(turn: Turn) -> dict[LeaseId, Reserved]:
    """Name every lease that has to end for a reservation that starts within its pool's notice."""
    policy, leases = turn.desk.book.policy, turn.tx.leases()
    if policy.modes.quota != "enforce":
        return {}
    ahead = max((pool.notice for pool in policy.pools.values()), default=_EARLY) + _EARLY
    last = turn.now + ahead
    every = turn.desk.times.between(turn.tx.reservations(), leases, turn.now, last)
    found: dict[LeaseId, Reserved] = {}
    for one in sorted(every, key=lambda time: (time.start, time.id)):
        if one.lease_id is not None or one.devices or one.pool not in policy.pools:
            continue
        if one.start - policy.pools[one.pool].notice - _EARLY > turn.now:
            continue
        for lease in victims(turn, one, every, leases, frozenset(found)):
            found[lease.id] = one
    return found


def victims(
    turn: Turn,
    one: Reserved,
    every: tuple[Reserved, ...],
    leases: tuple[OpenLease, ...],
    gone: frozenset[LeaseId],
) -> tuple[OpenLease, ...]:
    """Choose the fewest borrowed leases whose end lets a reservation have its devices and quota.

    Those that began last go first, then by id. None where even all of them make no room: nobody is
    stopped in vain.
    """
    policy, at = turn.desk.book.policy, max(one.start, turn.now)
    beside = [x for x in every if x.pool == one.pool and x.start <= at < x.end]
    counted = {x.lease_id for x in beside}
    staying = [
        lease
        for lease in leases
        if lease.pool == one.pool
        and lease.id not in counted | gone
        and lease.key != one.key
        and stays(_unannounced(lease), at)
    ]
    chosen: list[OpenLease] = []
    for lease in sorted((x for x in staying if _may_go(policy, x, at)), key=_newest):
        if _room(turn, one, beside, [x for x in staying if x not in chosen]):
            break
        chosen.append(lease)
    if not _room(turn, one, beside, [x for x in staying if x not in chosen]):
        return ()
    for lease in list(chosen):
        fewer = [x for x in chosen if x is not lease]
        if _room(turn, one, beside, [x for x in staying if x not in fewer]):
            chosen = fewer
    return tuple(chosen)


def _unannounced(lease: OpenLease) -> OpenLease:
    """Leave out a notice that was given for a reservation: whether it still holds is asked here."""
    mine = lease.notice is not None and lease.notice.reason.code == RESERVED
    return lease.model_copy(update={"notice": None}) if mine else lease


def _may_go(policy: Policy, lease: OpenLease, at: datetime) -> bool:
    pool = policy.pools[str(lease.pool)]
    since = lease.assigned_at or lease.requested_at
    return lease.standing is Standing.borrowed and pool.reclaim and since + pool.min_runtime <= at


def _newest(lease: OpenLease) -> tuple[float, str]:
    return (-(lease.assigned_at or lease.requested_at).timestamp(), lease.id)


def _room(turn: Turn, one: Reserved, beside: list[Reserved], staying: list[OpenLease]) -> bool:
    policy = turn.desk.book.policy
    quota = policy.teams[one.team].quota.get(one.pool) if one.team in policy.teams else None
    used = sum(x.units for x in staying if x.team == one.team)
    used += sum(x.units for x in beside if x.team == one.team)
    if quota is None or used > quota.nominal:
        return False
    devices = turn.desk.in_service(policy, now=turn.now)
    mine = tuple(device for device in devices if device.pool == one.pool)
    owners = turn.desk.pins.owners_in(policy)
    return room_for(mine, held_devices(staying), beside, owners) is not None
