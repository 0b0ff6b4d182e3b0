"""What somebody can count on: until when a lease is safe, and what may come after that.

The same sentence stands on the form, on the page of what waits and in the panel of the server.
"""

from datetime import datetime

from ..i18n import _
from ..lease import Contract, OpenLease, PoolName, Standing, local_text
from ..policy.bounds import owner_bound
from ..policy.model import Policy
from ..units import duration_text
from .protection import safe_until


def offered(
    policy: Policy, pool: PoolName | None, standing: Standing, at: datetime
) -> Contract | None:
    """Say what would hold for a lease that starts now; None where nothing is promised yet."""
    rules = policy.pools.get(pool) if pool is not None else None
    if pool is None or rules is None or standing not in {Standing.guaranteed, Standing.borrowed}:
        return None
    return _contract(policy, pool, standing, at + rules.min_runtime, at)


def of_lease(policy: Policy, lease: OpenLease, at: datetime) -> Contract | None:
    """Say what holds for a lease that runs."""
    if lease.pool is None or lease.pool not in policy.pools or not lease.holding:
        return None
    return _contract(policy, lease.pool, lease.standing, safe_until(policy, lease), at)


def waiting(policy: Policy, pool: PoolName, team: str, *, borrows: bool) -> str:
    """Say what somebody who waits can count on: the bound, or that there is none."""
    quota = policy.teams[team].quota.get(pool)
    if borrows or quota is None or not quota.nominal:
        return _(
            "It would borrow, so it waits until others leave room; nobody is called in for it."
        )
    bound = owner_bound(policy, pool)
    if bound is None:
        return _(
            "No bound: what others borrow of the team's guarantee in pool {pool} is not called in."
        ).format(pool=pool)
    return _(
        "Within the team's guarantee: what others borrow of it is called in, so that the first in "
        "line waits {bound} at most while devices are in service."
    ).format(bound=duration_text(bound))


def _contract(
    policy: Policy, pool: PoolName, standing: Standing, safe: datetime, at: datetime
) -> Contract | None:
    rules = policy.pools[pool]
    if standing is Standing.guaranteed:
        words = _("Guaranteed: it is not taken for another team.")
        return Contract(called_in=False, words=words)
    if standing is not Standing.borrowed:
        return None
    if not rules.reclaim:
        words = _("Borrowed; in pool {pool} nothing is called in.").format(pool=pool)
        return Contract(called_in=False, words=words)
    notice = duration_text(rules.notice)
    if safe <= at:
        words = _("Borrowed: it may be called in at any time, with {notice} notice.")
    else:
        words = _("Borrowed: safe until {at}, then it may be called in with {notice} notice.")
    return Contract(
        called_in=True,
        safe_until=safe,
        notice_s=int(rules.notice.total_seconds()),
        words=words.format(at=_clock(safe, at, policy.timezone), notice=notice),
    )


def _clock(instant: datetime, now: datetime, zone: str) -> str:
    """The time of day, with its zone; with its day where that is another one."""
    day, clock, name = local_text(instant, zone).split(" ", 2)
    today = local_text(now, zone).split(" ", 1)[0]
    return f"{clock[:5]} {name}" if day == today else f"{day} {clock[:5]} {name}"
