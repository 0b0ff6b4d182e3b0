"""One pool as the engine is given it: its levels as cohorts and queues, its leases as workloads."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from ..lease import LeaseId, LeaseState, OpenLease, PoolName
from . import engine
from .levels import queue_of
from .priority import BAND, CALLED_IN, RUNNING, WAITING
from .quota import Node
from .snapshot import NOBODY, Snapshot, scene

UNIT = "gpu-commons.dev/unit"
"""The one resource that pools are flavors of."""


def state_of(
    snapshot: Snapshot, pool: PoolName, *, numbers: Mapping[LeaseId, int] | None = None
) -> engine.State:
    """Build what the engine is given of one pool.

    Parameters
    ----------
    snapshot
        The world at one instant.
    pool
        The pool; it is the one flavor.
    numbers
        Priority numbers that are to hold instead of the leases' own.
    """
    pair, policy = (str(pool), UNIT), snapshot.policy
    view = scene(snapshot, pool, without=NOBODY, lease_id=None)
    quotas = view.quotas
    queued = (lease for lease in view.others if lease.state is LeaseState.queued)
    leases = (*view.holding, *(lease for lease in queued if lease.pool == pool))
    reclaim = engine.Preemption(reclaim="LowerPriority" if policy.pools[pool].reclaim else "Never")
    parents = {node.parent for node in quotas.nodes.values() if node.parent is not None}
    cohorts = tuple(
        engine.Cohort(name, node.parent, {pair: _quota(node)})
        for name, node in quotas.nodes.items()
        if name in parents or node.parent is None
    )
    queues = tuple(
        engine.Queue(
            name,
            node.parent,
            (engine.Group((UNIT,), (str(pool),)),),
            {pair: _quota(node)},
            reclaim,
        )
        for name, node in quotas.nodes.items()
        if name not in parents and node.parent is not None
    )
    known = numbers or {}
    return engine.State(
        cohorts,
        queues,
        tuple(
            _workload(lease, queue_of(policy, lease.team, lease.project, pool), pair, known)
            for lease in leases
        ),
    )


def _quota(node: Node) -> engine.Quota:
    return engine.Quota(node.nominal, node.borrowing_limit, node.lending_limit)


def _workload(
    lease: OpenLease, queue: str, pair: engine.Pair, numbers: Mapping[LeaseId, int]
) -> engine.Workload:
    return engine.Workload(
        id=lease.id,
        queue=queue,
        priority=numbers.get(lease.id, number(lease)),
        queued_at=microseconds(lease.requested_at),
        uid=lease.id,
        requests={UNIT: lease.units},
        usage={pair: lease.units} if lease.holding else None,
        reserved_at=microseconds(lease.assigned_at or lease.requested_at),
        evicted=lease.holding and lease.called_in is not None,
    )


def number(lease: OpenLease) -> int:
    """Priority number of a lease by what it does now; its weight is that of its last number."""
    band = WAITING if lease.state is LeaseState.queued else RUNNING
    if lease.called_in is not None:
        band = CALLED_IN
    return band * BAND + lease.priority % BAND


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(instant: datetime) -> int:
    """An instant as the engine counts."""
    return (instant - EPOCH) // timedelta(microseconds=1)
