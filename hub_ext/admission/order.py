"""Who comes first: waiting requests among themselves, and borrowed leases that become guaranteed.

Each order is a list of tie-breakers that ends in one that is unique.
"""

from collections.abc import Iterable
from datetime import datetime

from ..lease import LeaseId, OpenLease, PoolName, Standing
from ..policy.model import Policy
from .levels import guarantee, queue_of
from .snapshot import NONE_YET, Demand, Scene


def turn(demand: Demand) -> tuple[int, datetime, str, str]:
    """Sort key of waiting requests; the smallest comes first.

    1. priority number, the higher first
    2. time of the request, the older first
    3. lease id; what has none yet comes last
    4. the server, for two that have none
    """
    server = str(demand.key) if demand.tie == NONE_YET else ""
    return (-demand.priority, demand.requested_at, demand.tie, server)


def ahead_of(demand: Demand, waiting: Iterable[Demand]) -> tuple[Demand, ...]:
    """Requests that come before `demand`, in their order."""
    mine = turn(demand)
    return tuple(sorted((one for one in waiting if turn(one) < mine), key=turn))


def promotions(policy: Policy, leases: Iterable[OpenLease]) -> tuple[LeaseId, ...]:
    """Borrowed leases that now fit into their team's guarantee, and so become guaranteed.

    By team and pool the oldest comes first: time of the request, then lease id. One that is too
    large is passed over. The caller records them in the transaction that made the room.
    """
    found: list[LeaseId] = []
    there = [lease for lease in leases if lease.holding]
    # Mostly nothing is borrowed, which shall cost little: it is asked at each end of a lease.
    lent = {(one.team, one.pool) for one in there if one.standing is Standing.borrowed}
    groups: dict[tuple[str, PoolName], list[OpenLease]] = {}
    for one in there if lent else ():
        if one.pool is not None and (one.team, one.pool) in lent:
            groups.setdefault((one.team, one.pool), []).append(one)
    for (team, pool), group in groups.items():
        covered = guarantee(policy, team, pool)
        borrowed = [one for one in group if one.standing is Standing.borrowed]
        if covered is None:
            continue
        for one in group:
            if one.standing is Standing.guaranteed:
                covered.take(queue_of(policy, team, one.project, pool), one.units)
        for one in sorted(borrowed, key=lambda one: (one.requested_at, one.id)):
            queue = queue_of(policy, team, one.project, pool)
            if covered.covers(queue, one.units):
                covered.take(queue, one.units)
                found.append(one.id)
    return tuple(sorted(found))


def covers(scene: Scene, demand: Demand) -> bool:
    """Whether a new lease lies wholly inside its team's guarantee, beside those that do already.

    By the same account as `promotions`, so that what starts as borrowed is not guaranteed a
    moment later with nothing changed. What is ahead of it counts as it would start.
    """
    covered = guarantee(scene.policy, demand.team, demand.pool)
    if covered is None:
        return False
    for (team, project), units in scene.secured.items():
        if team == demand.team:
            covered.take(queue_of(scene.policy, team, project, demand.pool), units)
    for kept in scene.kept:
        if kept.team == demand.team:
            covered.take(kept.team, kept.units)
    for one, _devices in scene.taken:
        if one.team == demand.team and covered.covers(scene.queue(one), one.units):
            covered.take(scene.queue(one), one.units)
    return covered.covers(scene.queue(demand), demand.units)
