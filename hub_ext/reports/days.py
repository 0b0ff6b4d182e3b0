"""Charges laid out in time: by day or month of the organisation's zone, told apart by a name. Pure.

What crosses a midnight is split there, so that all days together are the charges again.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from ..budget import Period, month_name, months
from ..lease import Posting
from ..metering import clip
from ..policy.prices import day_start, local_day

MOST_DAYS = 62
"""A longer time is laid out by months: more bars than that are not read."""

_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)

Namer = Callable[[Posting], str]


class Stack(NamedTuple):
    """Amounts in micro-units of one currency: for each name one a stretch of time.

    `titles` are days ("2026-11-30") or months ("2026-11"), in order; names come by amount.
    """

    titles: tuple[str, ...]
    amounts: Mapping[str, tuple[int, ...]]

    @property
    def sums(self) -> tuple[int, ...]:
        """What each stretch comes to."""
        return tuple(map(sum, zip(*self.amounts.values(), strict=True)))


def by_day(lines: Iterable[Posting], zone: str, currency: str, until: datetime) -> dict[date, int]:
    """Sum charges up by day, split at midnight; days without any are absent."""
    days: dict[date, int] = {}
    for line in lines:
        if line.amount_micro is None or line.currency != currency:
            continue
        day, last = (local_day(at, zone) for at in (line.start, min(line.end, until)))
        while day <= last:
            begin = day_start(day, zone)
            part = clip(line, begin, day_start(day + _DAY, zone))
            if part is not None and part.amount_micro:
                days[day] = days.get(day, 0) + part.amount_micro
            day += _DAY
    return days


def stacked(
    lines: Iterable[Posting], zone: str, currency: str, window: Period, name: Namer
) -> Stack:
    """Lay charges out over a window, each under its name.

    Parameters
    ----------
    window
        [start, end); what lies outside is cut off. Up to `MOST_DAYS` it is shown by days.
    """
    edges, titles = _edges(zone, window)
    starts = [period.start for period in edges]
    found: dict[str, list[int]] = {}
    for line in lines:
        if not line.amount_micro or line.currency != currency:
            continue
        row = found.setdefault(name(line), [0] * len(edges))
        first = max(bisect_right(starts, line.start) - 1, 0)
        for index, period in enumerate(edges[first:], first):
            if period.start > line.end:
                break
            part = clip(line, period.start, period.end)
            row[index] += 0 if part is None else part.amount_micro or 0
    order = sorted(found, key=lambda one: (-sum(found[one]), one))
    return Stack(titles, {one: tuple(found[one]) for one in order})


def largest(stack: Stack, most: int, others: str) -> Stack:
    """Join all but the largest names into one, which comes last."""
    names = list(stack.amounts)
    if len(names) <= most:
        return stack
    kept = {name: stack.amounts[name] for name in names[: most - 1]}
    rest = [stack.amounts[name] for name in names[most - 1 :]]
    return Stack(stack.titles, {**kept, others: tuple(map(sum, zip(*rest, strict=True)))})


def _edges(zone: str, window: Period) -> tuple[Sequence[Period], tuple[str, ...]]:
    first, last = local_day(window.start, zone), local_day(window.end - _INSTANT, zone)
    if (last - first).days >= MOST_DAYS:
        periods = [_inside(one, window) for one in months(zone, window.start, window.end)]
        return periods, tuple(month_name(one.start, zone) for one in periods)
    days = [first + n * _DAY for n in range((last - first).days + 1)]
    whole = [Period(day_start(day, zone), day_start(day + _DAY, zone)) for day in days]
    return [_inside(one, window) for one in whole], tuple(day.isoformat() for day in days)


def _inside(one: Period, window: Period) -> Period:
    return Period(max(one.start, window.start), min(one.end, window.end))
