"""Which waiting requests are owed a start: inside a guarantee, and the first such of their queue.

From then on the bound counts that the policy states for owners.
"""

from datetime import datetime, timedelta

from ..lease import LeaseId, OpenLease, PoolName
from ..policy.bounds import owner_bound
from ..policy.model import Policy
from .order import turn
from .owners import owners
from .snapshot import Scene, Snapshot, Views, whole


def counts(policy: Policy, lease: OpenLease) -> bool:
    """Whether it is kept on record since when a request is owed a start."""
    return (
        policy.modes.quota == "enforce"
        and lease.pool in policy.pools
        and lease.held_at is None
        and lease.reservation is None
    )


def owed_changes(snapshot: Snapshot, views: Views) -> dict[LeaseId, datetime | None]:
    """Give the requests that have become owed, and since when; None for one that is not any more.

    A colleague who comes before it may take what it was owed, or a device go out of service. Where
    the bound had passed before, what is on record stays.
    """
    policy, at = snapshot.policy, snapshot.at
    waiting = [one for one in snapshot.leases if one.when is not None and counts(policy, one)]
    owed = {
        name
        for pool in sorted({str(one.pool) for one in waiting})
        for name in _firsts(whole(snapshot, PoolName(pool), views))
    }
    found: dict[LeaseId, datetime | None] = {}
    for one in waiting:
        if one.id in owed and one.owed_since is None:
            found[one.id] = at
        elif one.id not in owed and one.owed_since is not None:
            bound = promised(policy, one)
            if bound is None or at - one.owed_since <= bound:
                found[one.id] = None
    return found


def promised(policy: Policy, lease: OpenLease) -> timedelta | None:
    """Longest wait that a request was promised when it became owed; None where none was.

    Of those that were recorded before it was kept, what the policy promises now.
    """
    if lease.owed_bound_s is None:
        return owner_bound(policy, str(lease.pool))
    return timedelta(seconds=lease.owed_bound_s) if lease.owed_bound_s else None


def _firsts(view: Scene) -> set[LeaseId]:
    first: dict[str, LeaseId] = {}
    for one in sorted((owner.demand for owner in owners(view)), key=turn):
        first.setdefault(view.queue(one), LeaseId(one.tie))
    return set(first.values())
