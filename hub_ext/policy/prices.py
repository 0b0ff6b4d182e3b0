"""Dated prices: what an hour costs at an instant, and where in a stretch of time that changes.

A price begins with its day in the policy's time zone. No price is None, never 0.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from itertools import pairwise
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from ..lease import Standing
from .model import Policy, PriceEntry

WHOLE_GPU = "gpu"
"""Flavor of a price entry for one whole GPU; n of them cost n times as much."""


Tier = Literal["guaranteed", "borrowed", "dearest"]
"""Which of an entry's prices: of the guarantee, of what is borrowed, or the higher of both, for
what is borrowed may become guaranteed while it runs."""


class PriceSpan(NamedTuple):
    """A stretch [start, end) in which one price holds, in micro-units an hour; None: no price."""

    start: datetime
    end: datetime
    price_micro_per_hour: int | None


class _InForce(NamedTuple):
    """An entry that holds at an instant, and how many times it is charged."""

    entry: PriceEntry
    times: int


def tier_of(standing: Standing) -> Tier:
    """Which price a lease pays while it stands so."""
    return "borrowed" if standing is Standing.borrowed else "guaranteed"


def local_day(at: datetime, timezone: str) -> date:
    """Give the day that it is in a time zone."""
    return at.astimezone(ZoneInfo(timezone)).date()


def day_start(day: date, timezone: str) -> datetime:
    """First instant of a day in a time zone, in UTC.

    Where the clock jumps over midnight it is the instant of the jump; where midnight comes twice
    it is the first.
    """
    try:
        return datetime.combine(day, time.min, tzinfo=ZoneInfo(timezone)).astimezone(UTC)
    except OverflowError:
        # Only the first and last days of the calendar; the policy cannot mean anything else.
        return datetime.combine(day, time.min, tzinfo=UTC)


def priced_as(flavor: str) -> tuple[str, int]:
    """Flavor of the price entry for a flavor's name, and how many times it is charged."""
    kind, _, count = flavor.partition("-")
    if kind == WHOLE_GPU and count.isdecimal():
        return WHOLE_GPU, int(count)
    return flavor, 1


def entries_for(policy: Policy, pool: str | None, flavor: str) -> tuple[PriceEntry, ...]:
    """Price entries of one pool and price flavor, by first day."""
    mine = [one for one in policy.prices if one.pool == pool and one.flavor == flavor]
    return tuple(sorted(mine, key=lambda one: one.from_))


def price_at(
    policy: Policy, pool: str | None, flavor: str, at: datetime, tier: Tier = "guaranteed"
) -> int | None:
    """Price of one hour of a flavor at an instant, in micro-units; None where none is in force.

    Parameters
    ----------
    flavor
        As `flavor_name` writes it (`gpu-2`, `1g.18gb`, `none`).
    at
        An aware instant.
    tier
        An entry without a price of its own for it has one for all.
    """
    found = _in_force(policy, pool, flavor, at)
    return None if found is None else _of_tier(found.entry, tier) * found.times


def unused_at(
    policy: Policy, pool: str | None, flavor: str, at: datetime, percent: int
) -> int | None:
    """Price of one hour in which a flavor is kept for a reservation and no server uses it.

    Parameters
    ----------
    percent
        Share of the price in hundredths that is charged where the entry has no price of its own
        for it; rounded to whole micro-units, once.
    """
    found = _in_force(policy, pool, flavor, at)
    if found is None:
        return None
    entry, times = found
    if entry.reserved_unused is not None:
        return entry.reserved_unused * times
    return (entry.per_hour * times * percent + 50) // 100


def price_spans(
    policy: Policy,
    pool: str | None,
    flavor: str,
    start: datetime,
    end: datetime,
    tier: Tier = "guaranteed",
) -> tuple[PriceSpan, ...]:
    """Tile [start, end) with the prices in force; neighbours of one price are one span.

    Returns
    -------
    Spans in order, without gap or overlap, in UTC; none where `end` is not after `start`.
    """
    return _spans(
        policy,
        (pool, flavor),
        (start, end),
        lambda at: price_at(policy, pool, flavor, at, tier),
    )


def unused_spans(
    policy: Policy, pool: str | None, flavor: str, start: datetime, end: datetime, percent: int
) -> tuple[PriceSpan, ...]:
    """Tile [start, end) with what unused time of a reservation costs; see `unused_at`."""
    return _spans(
        policy,
        (pool, flavor),
        (start, end),
        lambda at: unused_at(policy, pool, flavor, at, percent),
    )


def _in_force(policy: Policy, pool: str | None, flavor: str, at: datetime) -> _InForce | None:
    priced, times = priced_as(flavor)
    found = None
    for one in entries_for(policy, pool, priced):
        if day_start(one.from_, policy.timezone) <= at:
            found = one
    if found is None:
        return None
    if found.until is not None and day_start(found.until, policy.timezone) <= at:
        return None
    return _InForce(found, times)


def _of_tier(entry: PriceEntry, tier: Tier) -> int:
    borrowed = entry.per_hour if entry.borrowed is None else entry.borrowed
    match tier:
        case "guaranteed":
            return entry.per_hour
        case "borrowed":
            return borrowed
        case "dearest":
            return max(entry.per_hour, borrowed)


def _spans(
    policy: Policy,
    what: tuple[str | None, str],
    stretch: tuple[datetime, datetime],
    price_at_instant: Callable[[datetime], int | None],
) -> tuple[PriceSpan, ...]:
    pool, flavor = what
    start, end = stretch
    if end <= start:
        return ()
    priced, _times = priced_as(flavor)
    days = {
        day
        for one in entries_for(policy, pool, priced)
        for day in (one.from_, one.until)
        if day is not None
    }
    changes = {day_start(day, policy.timezone) for day in days}
    edges = [start, *sorted(one for one in changes if start < one < end), end]
    spans: list[PriceSpan] = []
    for begin, finish in pairwise(edges):
        price = price_at_instant(begin)
        if spans and spans[-1].price_micro_per_hour == price:
            begin = spans.pop().start  # noqa: PLW2901 - the merged span begins where its neighbour did
        spans.append(PriceSpan(begin.astimezone(UTC), finish.astimezone(UTC), price))
    return tuple(spans)
