"""The waiting requests of all pools in their order, each with its place and its answer now.

It decides by the same function as a start does, in one pass a pool; it changes nothing.
"""

from dataclasses import dataclass

from ..lease import LeaseId, LeaseState, OpenLease, PoolName
from .decide import Decision, in_turn
from .snapshot import NOBODY, Snapshot, scene

__all__ = ["NOBODY", "Waiting", "line"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One waiting request. `place` counts from 1 in its pool; `decision` is what would be now."""

    lease: OpenLease
    place: int
    decision: Decision


def line(snapshot: Snapshot) -> tuple[Waiting, ...]:
    """Answer every waiting request, in the order of their pools and then as Kueue would."""
    queued = {
        lease.id: lease
        for lease in snapshot.leases
        if lease.state is LeaseState.queued and lease.pool is not None
    }
    pools = sorted({PoolName(str(lease.pool)) for lease in queued.values()})
    return tuple(one for pool in pools for one in _of_pool(snapshot, pool, queued))


def _of_pool(
    snapshot: Snapshot, pool: PoolName, queued: dict[LeaseId, OpenLease]
) -> tuple[Waiting, ...]:
    view = scene(snapshot, pool, without=NOBODY, lease_id=None)
    return tuple(
        Waiting(queued[LeaseId(demand.tie)], place, decision)
        for place, (demand, decision, _view) in enumerate(in_turn(view, view.waiting), start=1)
    )
