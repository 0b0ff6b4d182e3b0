"""The waiting requests of all pools in their order, each with its place and its answer now.

It decides by the same function as a start does, in one pass a pool; it changes nothing.
"""

from dataclasses import dataclass

from ..lease import LeaseId, LeaseState, OpenLease, PoolName
from .decide import Decision, in_turn
from .snapshot import NOBODY, Scene, Snapshot, Views, whole

__all__ = ["NOBODY", "Waiting", "line"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One waiting request. `place` counts from 1 in its pool; `decision` is what would be now."""

    lease: OpenLease
    place: int
    decision: Decision


def line(snapshot: Snapshot, views: Views | None = None) -> tuple[Waiting, ...]:
    """Answer every waiting request, in the order of their pools and then as Kueue would."""
    views = {} if views is None else views
    queued = {
        lease.id: lease
        for lease in snapshot.leases
        if lease.state is LeaseState.queued and lease.pool is not None
    }
    pools = sorted({PoolName(str(lease.pool)) for lease in queued.values()})
    return tuple(one for pool in pools for one in _of_pool(whole(snapshot, pool, views), queued))


def _of_pool(view: Scene, queued: dict[LeaseId, OpenLease]) -> tuple[Waiting, ...]:
    return tuple(
        Waiting(queued[LeaseId(demand.tie)], place, decision)
        for place, (demand, decision, _view) in enumerate(in_turn(view, view.waiting), start=1)
    )
