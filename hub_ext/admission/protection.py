"""What keeps a lease from being called in for a request, and until when.

A guaranteed lease is never taken for another team. A borrowed one is safe for the pool's
`min_runtime`; but nothing is protected beyond a request's arrival plus that time.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ..lease import LeaseState, OpenLease, Standing
from ..policy.model import Policy
from .priority import task_weight

LIVE = frozenset({LeaseState.running, LeaseState.noticed})
"""States in which a server can be told that it is called in."""

Code = Literal["reclaim-off", "guaranteed", "not-up", "stops-already", "protected", "same-team"]


@dataclass(frozen=True, slots=True)
class Shield:
    """Why a lease cannot be called in; `until` where that ends by itself."""

    code: Code
    until: datetime | None = None


def shield(policy: Policy, lease: OpenLease, request: OpenLease, at: datetime) -> Shield | None:
    """Say what protects a lease of the request's pool from it; None where nothing does.

    Parameters
    ----------
    request
        A request inside its own team's guarantee; or, against a lease of its own team, one whose
        task type may preempt.
    """
    pool = policy.pools.get(str(lease.pool))
    if pool is None or lease.state is LeaseState.stopping:
        return Shield("stops-already")
    if lease.state not in LIVE:
        return Shield("not-up")
    if lease.team == request.team and not _of_another_share(lease, request):
        return in_team(policy, lease, request, at)
    if not pool.reclaim:
        return Shield("reclaim-off")
    if lease.standing is not Standing.borrowed:
        return Shield("guaranteed")
    safe = safe_until(policy, lease)
    safe = min(safe, request.state_since + pool.min_runtime)
    return Shield("protected", safe) if at < safe else None


def gives_up_hold(policy: Policy, lease: OpenLease, request: OpenLease) -> bool:
    """Whether what is held for somebody who borrows goes at once to an owner's request.

    Nothing runs on it, so nobody loses work: no minimum and no notice. What a reservation holds
    is its own.
    """
    pool = policy.pools.get(str(lease.pool))
    return (
        lease.state is LeaseState.held
        and lease.standing is Standing.borrowed
        and lease.reservation is None
        and pool is not None
        and pool.reclaim
        and (lease.team != request.team or _of_another_share(lease, request))
    )


def safe_until(policy: Policy, lease: OpenLease) -> datetime:
    """When a lease's minimum run time is over; what was said at its start holds."""
    pool = policy.pools[str(lease.pool)]
    since = lease.assigned_at or lease.requested_at
    return lease.safe_until or since + pool.min_runtime


def may_preempt(policy: Policy, request: OpenLease) -> bool:
    """Whether a request may stop a lease of a lower task type in its own team."""
    team = policy.teams.get(request.team)
    task = policy.task_types.get(request.task_type) if request.task_type is not None else None
    return team is not None and team.preemption == "by_type" and bool(task and task.may_preempt)


def _of_another_share(lease: OpenLease, request: OpenLease) -> bool:
    """Whether a lease borrows, inside its team, what may be another project's share."""
    return lease.standing is Standing.borrowed and lease.project != request.project


def in_team(policy: Policy, lease: OpenLease, request: OpenLease, at: datetime) -> Shield | None:
    """Say what protects a lease from a request of its own team by its task type."""
    lower = task_weight(policy, lease.task_type) < task_weight(policy, request.task_type)
    if not lower or not may_preempt(policy, request):
        return Shield("same-team")
    pool = policy.pools[str(lease.pool)]
    safe = (lease.assigned_at or lease.requested_at) + pool.min_runtime
    return Shield("protected", safe) if at < safe else None
