"""Where a month's spending is going: what is spent, what runs on, what is likely beside it. Pure.

The point is the month so far and the means of each weekday of the last four weeks; the band comes
from how wrong that was in months that are over. Nothing is said before ten active days.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from statistics import quantiles
from typing import NamedTuple

from ..i18n import _, ngettext
from ..units import money_text

Days = Mapping[date, int]
"""What was charged on each day of the organisation's zone, in micro-units; absent is nothing."""

LEAST_ACTIVE = 10
"""Days with a charge before anything is foretold."""

ROUGH_DAYS = 92
"""With less history than three months the point is called rough, and no band is given."""

BACK = 28
"""Days whose weekday means are taken: the straight line of a month is wrong about weekends."""

LEAST_ERRORS = 5
"""Months that are over, of whichever team, from which a band is made."""

_DAY = timedelta(days=1)
_THOUSAND = 1000
_WEEK = 7


class Outlook(NamedTuple):
    """What a month will likely come to. Amounts are micro-units of one currency.

    `point`, `low` and `high` are of the whole month; None where nothing can be said. `committed`
    is what servers cost that run now, until their agreed end or the month's.
    """

    spent: int
    committed: int
    point: int | None
    low: int | None
    high: int | None
    active_days: int


class Now(NamedTuple):
    """How far a month is: its last day, today, and how much of today is over, in thousandths."""

    today: date
    last: date
    of_today: int


def outlook(
    days: Days, now: Now, errors: Sequence[int], *, spent: int, committed: int = 0
) -> Outlook:
    """Say what a month comes to.

    Parameters
    ----------
    days
        Charges by day up to now, of this month and those before.
    errors
        What the remainder came to in months that are over, in thousandths of what was foretold
        from the same day of the month; see `errors_at`.
    spent
        Charged this month so far.
    """
    active = sum(1 for day, amount in days.items() if amount and day <= now.today)
    if active < LEAST_ACTIVE:
        return Outlook(spent, committed, None, None, None, active)
    rest = remainder(days, now)
    # Never less than what is agreed already.
    point = spent + max(rest, committed)
    known = (now.today - min(day for day, amount in days.items() if amount)).days
    if known < ROUGH_DAYS or len(errors) < LEAST_ERRORS:
        return Outlook(spent, committed, point, None, None, active)
    first, last = band(errors)
    low = spent + max(committed, rest * first // _THOUSAND)
    high = spent + max(committed, -(-rest * last // _THOUSAND))
    return Outlook(spent, committed, point, min(low, point), max(high, point), active)


def remainder(days: Days, now: Now) -> int:
    """Foretell what is still to come: the mean of its weekday for each day that is left."""
    return rest_by_day(days, now)[-1]


def rest_by_day(days: Days, now: Now) -> tuple[int, ...]:
    """Foretell what comes until the end of today, of tomorrow, and so on to the last day."""
    means = _means(days, now.today)
    rest = means[now.today.weekday()] * (_THOUSAND - now.of_today) // _THOUSAND
    found, day = [rest], now.today + _DAY
    while day <= now.last:
        rest += means[day.weekday()]
        found.append(rest)
        day += _DAY
    return tuple(found)


def errors_at(histories: Iterable[Days], months: Sequence[tuple[date, date]], at: int) -> list[int]:
    """How wrong the forecast was at the evening of a day of each month, in thousandths.

    Parameters
    ----------
    histories
        Charges by day, one a team.
    months
        First and last day of months that are over.
    at
        Day of the month, from 1.
    """
    found = []
    for days in histories:
        for first, last in months:
            today = min(first + (at - 1) * _DAY, last)
            seen = {day: amount for day, amount in days.items() if day <= today and amount}
            if len(seen) < LEAST_ACTIVE:
                continue
            foretold = remainder(seen, Now(today, last, _THOUSAND))
            actual = sum(amount for day, amount in days.items() if today < day <= last)
            if foretold > 0:
                found.append(actual * _THOUSAND // foretold)
    return found


def band(errors: Sequence[int]) -> tuple[int, int]:
    """Give the tenth and the ninetieth percentile of errors, in thousandths."""
    tenths = quantiles(errors, n=10, method="inclusive")
    return int(tenths[0]), int(-(-tenths[-1] // 1))


def words(one: Outlook, currency: str) -> str:
    """Say an outlook in a sentence or two."""
    spent = _("{money} so far").format(money=money_text(one.spent, currency))
    if one.committed:
        spent = _("{spent}, {money} more if what runs goes on to its end").format(
            spent=spent, money=money_text(one.committed, currency)
        )
    if one.point is None:
        left = LEAST_ACTIVE - one.active_days
        return ngettext(
            "{spent}. No forecast before {n} more day with a charge.",
            "{spent}. No forecast before {n} more days with a charge.",
            left,
        ).format(spent=spent, n=left)
    point = money_text(one.point, currency)
    if one.low is None or one.high is None:
        return _(
            "{spent}. Roughly {point} by the month's end, with little history to go by."
        ).format(spent=spent, point=point)
    return _(
        "{spent}. About {point} by the month's end; between {low} and {high} four times in five."
    ).format(
        spent=spent,
        point=point,
        low=money_text(one.low, currency),
        high=money_text(one.high, currency),
    )


def runs_out(days: Days, now: Now, errors: Sequence[int], *, left: int) -> tuple[date, date] | None:
    """Say between which days money runs out; None where it lasts to the month's end.

    Parameters
    ----------
    left
        What may still be spent, in micro-units.
    """
    first, last = band(errors) if len(errors) >= LEAST_ERRORS else (_THOUSAND, _THOUSAND)
    found = [_empty_on(days, now, left, times) for times in (max(last, _THOUSAND), first)]
    if found[0] is None:
        return None
    return found[0], found[1] or now.last


def _empty_on(days: Days, now: Now, left: int, times: int) -> date | None:
    means = _means(days, now.today)
    left -= means[now.today.weekday()] * (_THOUSAND - now.of_today) * times // _THOUSAND**2
    day = now.today
    while left > 0 and day < now.last:
        day += _DAY
        left -= means[day.weekday()] * times // _THOUSAND
    return day if left <= 0 else None


def _means(days: Days, today: date) -> tuple[int, ...]:
    """Mean of each weekday over the last four weeks, today left out: it is not over."""
    sums = [0] * _WEEK
    for back in range(1, BACK + 1):
        day = today - back * _DAY
        sums[day.weekday()] += days.get(day, 0)
    # A team that began within these weeks has no older ones to be averaged with.
    weeks = max(1, -(-min(BACK, _age(days, today)) // _WEEK))
    return tuple(total // weeks for total in sums)


def _age(days: Days, today: date) -> int:
    begun = min((day for day, amount in days.items() if amount), default=today)
    return (today - begun).days
