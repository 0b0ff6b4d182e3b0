"""Dated prices: what an hour costs at an instant, and where in a stretch of time that changes.

A price begins with its day in the policy's time zone. No price is None, never 0.
"""

from datetime import UTC, date, datetime, time
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from .model import Policy, PriceEntry

WHOLE_GPU = "gpu"
"""Flavor of a price entry for one whole GPU; n of them cost n times as much."""


class PriceSpan(NamedTuple):
    """A stretch [start, end) in which one price holds, in micro-units an hour; None: no price."""

    start: datetime
    end: datetime
    price_micro_per_hour: int | None


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


def price_at(policy: Policy, pool: str | None, flavor: str, at: datetime) -> int | None:
    """Price of one hour of a flavor at an instant, in micro-units; None where none is in force.

    Parameters
    ----------
    flavor
        As `flavor_name` writes it (`gpu-2`, `1g.18gb`, `none`).
    at
        An aware instant.
    """
    priced, times = priced_as(flavor)
    in_force = None
    for one in entries_for(policy, pool, priced):
        if day_start(one.from_, policy.timezone) <= at:
            in_force = one
    if in_force is None:
        return None
    if in_force.until is not None and day_start(in_force.until, policy.timezone) <= at:
        return None
    return in_force.per_hour * times


def price_spans(
    policy: Policy, pool: str | None, flavor: str, start: datetime, end: datetime
) -> tuple[PriceSpan, ...]:
    """Tile [start, end) with the prices in force; neighbours of one price are one span.

    Returns
    -------
    Spans in order, without gap or overlap, in UTC; none where `end` is not after `start`.
    """
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
        price = price_at(policy, pool, flavor, begin)
        if spans and spans[-1].price_micro_per_hour == price:
            begin = spans.pop().start  # noqa: PLW2901 - the merged span begins where its neighbour did
        spans.append(PriceSpan(begin.astimezone(UTC), finish.astimezone(UTC), price))
    return tuple(spans)
