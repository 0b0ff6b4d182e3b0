"""How a budget goes down: what is left day by day, the even pace, and where it is likely to end.

Pure. The band comes from the errors of past forecasts, as the outlook's own.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from ..budget import Period
from ..policy.prices import day_start, local_day
from ..units import whole_seconds
from .outlook import LEAST_ERRORS, Days, Now, band, rest_by_day

_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)
_THOUSAND = 1000


class Mark(NamedTuple):
    """What was left of a budget at an instant, in micro-units; below 0 it is overspent."""

    at: datetime
    left: int


class Fan(NamedTuple):
    """Between what a budget will be left at an instant; both are the point where no band is."""

    at: datetime
    low: int
    high: int


class BurnDown(NamedTuple):
    """One budget in its present period: `past` ends now, `ahead` at the period's end.

    `ahead` is empty while nothing can be foretold.
    """

    name: str
    currency: str
    zone: str
    amount: int
    period: Period
    past: tuple[Mark, ...]
    ahead: tuple[Fan, ...]

    @property
    def left(self) -> int:
        """What is left now."""
        return self.past[-1].left

    @property
    def even(self) -> int:
        """What an even pace would have left now: by real hours, whatever the clocks did."""
        start = self.period.start
        gone, whole = whole_seconds(start, self.past[-1].at), whole_seconds(start, self.period.end)
        return self.amount - self.amount * gone // whole


class Spent(NamedTuple):
    """A budget as it stands: its name, amount and period, and what is spent of it now."""

    name: str
    amount: int
    period: Period
    spent: int


def burn_down(
    budget: Spent, currency: str, zone: str, days: Days, errors: Sequence[int] | None, at: datetime
) -> BurnDown:
    """Lay a budget out in time.

    Parameters
    ----------
    days
        What was charged to its holder by day of the zone.
    errors
        Of past forecasts, in thousandths; None while nothing can be foretold.
    """
    period = budget.period
    first, last = local_day(period.start, zone), local_day(period.end - _INSTANT, zone)
    today = local_day(at, zone)
    left, past = budget.amount, [Mark(period.start, budget.amount)]
    for day in _each(first, today - _DAY):
        left -= days.get(day, 0)
        past.append(Mark(day_start(day + _DAY, zone), left))
    past.append(Mark(at, budget.amount - budget.spent))
    ahead = () if errors is None else _ahead(past[-1], days, errors, last, zone)
    return BurnDown(budget.name, currency, zone, budget.amount, period, tuple(past), ahead)


def _ahead(now: Mark, days: Days, errors: Sequence[int], last: date, zone: str) -> tuple[Fan, ...]:
    low, high = band(errors) if len(errors) >= LEAST_ERRORS else (_THOUSAND, _THOUSAND)
    today = local_day(now.at, zone)
    begin, end = (day_start(day, zone) for day in (today, today + _DAY))
    over = (now.at - begin) * _THOUSAND // (end - begin)
    fan = [Fan(now.at, now.left, now.left)]
    rests = rest_by_day(days, Now(today, last, over))
    for day, rest in zip(_each(today, last), rests, strict=True):
        most, least = rest * max(high, _THOUSAND), rest * min(low, _THOUSAND)
        until = day_start(day + _DAY, zone)
        fan.append(Fan(until, now.left - most // _THOUSAND, now.left - least // _THOUSAND))
    return tuple(fan)


def _each(first: date, last: date) -> Sequence[date]:
    return [first + n * _DAY for n in range((last - first).days + 1)]
