"""How much longer a server may be kept by its owner: one keep, one server, one week.

Pure. A kept stretch counts from the ask, or from the end of the one before; a week looks at every
stretch that is not older than seven days, also where it lies ahead. So no seven days ever hold
more than the limit, in whatever order people ask.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ..lease import OpenLease
from ..lease.keeping import KeepEnd
from ..policy.model import FlavorKind, IdleRule
from ..policy.model.keep import keep_server, keep_week

WEEK = timedelta(days=7)

LEAST = timedelta(minutes=1)
"""Less is not kept, where one keep lasts longer: it would be over before anybody has seen it."""

_NONE = timedelta(0)


class Kept(NamedTuple):
    """A stretch for which a server was kept, and when it was asked for."""

    start: datetime
    end: datetime
    at: datetime


class Keepable(NamedTuple):
    """What one more "keep" would do; `adds` is zero where it would do nothing."""

    each: timedelta
    adds: timedelta
    until: datetime
    ends_by: KeepEnd
    server_limit: timedelta
    week_kept: timedelta
    week_limit: timedelta


def keepable(
    rule: IdleRule,
    kind: FlavorKind,
    lease: OpenLease,
    kept: Sequence[Kept],
    now: datetime,
    *,
    more: timedelta = _NONE,
) -> Keepable:
    """Reckon what one more "keep" of a server would do.

    Parameters
    ----------
    kept
        Stretches for which servers of its owner were kept, this one's among them.
    more
        What a lead grants beyond the limits.
    """
    times = rule.keep
    server, week = keep_server(times, kind) + more, keep_week(times, kind) + more
    spent = week_kept(kept, now)
    base = now if lease.kept_until is None else max(now, lease.kept_until)
    bounds: list[tuple[timedelta, KeepEnd]] = [
        (now + times.each - base, ""),
        (server - timedelta(seconds=lease.kept_s), "server"),
        (week - spent, "week"),
    ]
    if lease.ends_at is not None:
        bounds.append((lease.ends_at - base, "lifetime"))
    adds, ends_by = min(bounds, key=lambda one: one[0])
    adds = timedelta(seconds=adds // timedelta(seconds=1))
    if adds < min(LEAST, times.each):
        adds = _NONE
    if not times.each:
        ends_by = "none"
    return Keepable(times.each, adds, base + adds, ends_by, server, spent, week)


def week_kept(kept: Sequence[Kept], now: datetime) -> timedelta:
    """Add up what is not older than a week."""
    since = now - WEEK
    return sum((max(_NONE, one.end - max(one.start, since)) for one in kept), _NONE)


def free_at(kept: Sequence[Kept], limit: timedelta, now: datetime) -> datetime | None:
    """Say when the week has room for the least again; None where it has, or never will.

    What was kept falls out of the week second by second, and nothing is added meanwhile: so the
    first such second is found by halving.
    """

    def has_room(at: datetime) -> bool:
        return limit - week_kept(kept, at) >= LEAST

    last = max((one.end for one in kept), default=now) + WEEK
    if has_room(now) or not has_room(last):
        return None
    short, enough = 0, -(-(last - now) // timedelta(seconds=1))
    while enough - short > 1:
        middle = (short + enough) // 2
        if has_room(now + timedelta(seconds=middle)):
            enough = middle
        else:
            short = middle
    return now + timedelta(seconds=enough)
