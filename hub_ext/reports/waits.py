"""Recorded waits as quantiles by team, pool, profile and task type. Pure.

What is not known is left out, never taken for no wait at all.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ..lease import LeaseId, LeaseState, OpenLease, PoolName, ProfileName, TaskTypeName, TeamName
from ..lease.waits import Quantiles, WaitRow

Kind = Literal["profile", "task_type"]
"""What rows are told apart by beside team and pool."""

KINDS: tuple[Kind, ...] = ("profile", "task_type")


class Wait(NamedTuple):
    """One request: how long until it had devices, until its server ran, and what it was owed."""

    lease_id: LeaseId
    team: str
    pool: str
    profile: str
    task_type: str | None
    ended: datetime
    held_s: int | None
    ready_s: int | None
    owed_for: timedelta | None
    """How long it had been owed a start when it had devices, or when it was last looked at."""
    promised: timedelta | None = None
    """Longest wait that it was promised then; zero for none, None where that is not on record."""


def wait_of(lease: OpenLease, now: datetime) -> Wait | None:
    """Take a request's wait from its lease; None where it tells nothing.

    Parameters
    ----------
    now
        When one that waits still is looked at.
    """
    if lease.pool is None or lease.reservation is not None:
        return None
    held_at = lease.held_at
    if held_at is None and (lease.owed_since is None or lease.assigned_at is not None):
        return None
    ended = held_at or lease.closed_at or now
    asked = lease.asked_at or lease.requested_at
    return Wait(
        lease_id=lease.id,
        team=lease.team,
        pool=lease.pool,
        profile=lease.profile,
        task_type=lease.task_type,
        ended=ended,
        held_s=None if held_at is None else _seconds(held_at - asked),
        ready_s=None
        if held_at is None or lease.started_at is None
        else _seconds(lease.started_at - held_at),
        owed_for=None if lease.owed_since is None else ended - lease.owed_since,
        promised=None if lease.owed_bound_s is None else timedelta(seconds=lease.owed_bound_s),
    )


def waits_still(lease: OpenLease) -> bool:
    """Whether a request is owed a start and has never had devices."""
    return lease.state is LeaseState.queued and lease.held_at is None


def wait_rows(
    waits: Iterable[Wait],
    bounds: Mapping[str, timedelta | None],
    since: datetime,
    *,
    by: tuple[Kind, ...] = KINDS,
) -> tuple[WaitRow, ...]:
    """Sum up waits that ended since, in the order of their names.

    Parameters
    ----------
    bounds
        Longest wait of an owner by pool now, for those of whom none is on record; a pool without
        one has no figure for the guarantee.
    """
    groups: dict[tuple[str, ...], list[Wait]] = {}
    for one in waits:
        if one.ended >= since:
            names = tuple(getattr(one, name) or "" for name in by)
            groups.setdefault((one.team, one.pool, *names), []).append(one)
    rows = (_row(key, groups[key], bounds.get(key[1]), by) for key in sorted(groups))
    return tuple(row for row in rows if row.held is not None or row.owed)


def quantiles(seconds: Iterable[int | None]) -> Quantiles | None:
    """Give the least value that at least so many percent do not exceed; None without values."""
    known = sorted(one for one in seconds if one is not None)
    if not known:
        return None
    p50, p90, p99 = (known[-(-len(known) * percent // 100) - 1] for percent in (50, 90, 99))
    return Quantiles(count=len(known), p50_s=p50, p90_s=p90, p99_s=p99)


def _row(
    key: tuple[str, ...], waits: list[Wait], bound: timedelta | None, by: tuple[Kind, ...]
) -> WaitRow:
    names = dict(zip(by, key[2:], strict=True))
    profile, task_type = names.get("profile"), names.get("task_type")
    kept = [one for one in (_kept(wait, bound) for wait in waits) if one is not None]
    return WaitRow(
        team=TeamName(key[0]),
        pool=PoolName(key[1]),
        profile=ProfileName(profile) if profile else None,
        task_type=TaskTypeName(task_type) if task_type else None,
        held=quantiles(one.held_s for one in waits),
        ready=quantiles(one.ready_s for one in waits),
        owed=len(kept),
        kept_percent=100 * sum(kept) // len(kept) if kept else None,
    )


def _kept(wait: Wait, bound: timedelta | None) -> bool | None:
    """Whether the guarantee was kept, by what was promised; None while it was not tested."""
    bound = bound if wait.promised is None else wait.promised
    if wait.owed_for is None or not bound:
        return None
    if wait.owed_for > bound:
        return False
    # Whoever left the queue before the bound had passed proves nothing.
    return True if wait.held_s is not None else None


def _seconds(span: timedelta) -> int:
    """Whole seconds; a clock that was set back makes no wait shorter than none."""
    return max(0, int(span.total_seconds()))
