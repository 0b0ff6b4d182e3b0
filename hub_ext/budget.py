"""What a budget has left, and what that means for a server that is asked for.

Pure, on whole numbers: money in micro-units, instants in microseconds. What something costs is
rounded up, so that what is taken from a budget is never less than what is charged.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Literal, NamedTuple

from .lease.budgets import ACTS, Budgeted, StepTaken, Used
from .policy.model.budgets import Budget
from .policy.prices import PriceSpan, day_start, local_day
from .units import SECONDS_PER_HOUR, accrue, instant_us

_DECEMBER = 12


class Period(NamedTuple):
    """A stretch [start, end) with an amount of its own, in UTC."""

    start: datetime
    end: datetime


class Tile(NamedTuple):
    """A price over [start, end); tiles that overlap add up. None is not priced."""

    start_us: int
    end_us: int
    price_micro: int | None


class Spending(NamedTuple):
    """Somebody's server over [start, end): what it costs then, and whose budgets pay for it."""

    team: str
    project: str | None
    user: str
    start_us: int
    end_us: int
    tiles: tuple[Tile, ...]
    units: int = 0


Code = Literal[
    "budget-unpriced",
    "budget-too-small",
    "budget-no-new",
    "budget-guaranteed-only",
    "budget-small-only",
    "budget-short",
]
"""Why a budget is in the way. The first two are for ever, as it is asked for."""

NEVER: frozenset[Code] = frozenset({"budget-unpriced", "budget-too-small"})


class Obstacle(NamedTuple):
    """A budget that is in the way, with its figures.

    `cost_micro` is for `lasts_s` of it, which lie in the period; `left_micro` is what there is for
    new servers, and `fits_s` for how long from its start that pays for this one. `step` is what
    stands in the way, where it is a step.
    """

    code: Code
    budget: Budgeted
    used: Used
    cost_micro: int
    left_micro: int
    lasts_s: int
    fits_s: int
    step: StepTaken | None = None


def periods(budget: Budget, zone: str, start: datetime, end: datetime) -> tuple[Period, ...]:
    """List the periods of a budget that [start, end) touches, in order.

    A month begins with the first instant of its first day in the zone, so it has as many hours as
    the clocks there give it.
    """
    if budget.period != "month":
        term = Period(day_start(budget.period.from_, zone), day_start(budget.period.until, zone))
        return (term,) if term.start < end and start < term.end else ()
    return tuple(months(zone, start, end))


def months(zone: str, start: datetime, end: datetime) -> Iterator[Period]:
    """List the months of a zone that [start, end) touches, in order."""
    first = local_day(start, zone).replace(day=1)
    while (begin := day_start(first, zone)) < end:
        first = _next_month(first)
        yield Period(begin, day_start(first, zone))


def month_name(at: datetime, zone: str) -> str:
    """Name the month that an instant is in, as people write it: "2026-11"."""
    return f"{local_day(at, zone):%Y-%m}"


def _next_month(first: date) -> date:
    if first.month == _DECEMBER:
        return first.replace(year=first.year + 1, month=1)
    return first.replace(month=first.month + 1)


def tiles(spans: Iterable[PriceSpan], times: int = 1) -> tuple[Tile, ...]:
    """Make tiles of prices; each counts so many times."""
    return tuple(
        Tile(
            instant_us(span.start),
            instant_us(span.end),
            None if span.price_micro_per_hour is None else span.price_micro_per_hour * times,
        )
        for span in spans
    )


def cost(priced: Iterable[Tile], start_us: int, end_us: int) -> int:
    """What [start, end) costs, in micro-units, rounded up; time without a price costs nothing."""
    product = 0
    for first, last, price in priced:
        begin = max(start_us, first)
        finish = min(end_us, last)
        if price is not None and begin < finish:
            # A second that has begun counts, as a rest of one may be charged.
            product += accrue(price, -((begin - finish) // 1_000_000))
    return -(-product // SECONDS_PER_HOUR)


def steady_rate(priced: Iterable[Tile], start_us: int, end_us: int) -> int | None:
    """Price an hour over all of [start, end) where it does not change; None where it does.

    Time without a price costs nothing, as long as it has none throughout.
    """
    rate = 0
    for first, last, price in priced:
        if first >= end_us or last <= start_us:
            continue
        if first > start_us or last < end_us:
            return None
        rate += price or 0
    return rate


def is_priced(priced: Iterable[Tile], start_us: int, end_us: int) -> bool:
    """Whether every moment of [start, end) has a price, as far as there are tiles."""
    return not any(
        price is None and first < end_us and start_us < last for first, last, price in priced
    )


def used_by(one: Spending, period: tuple[int, int], now_us: int) -> Used:
    """What a server that runs takes of a period: spent until now, committed from now to its end.

    Both together stay the same as time passes, until its end changes.
    """
    start, end = max(one.start_us, period[0]), min(max(one.end_us, now_us), period[1])
    if end <= start:
        return Used()
    total = cost(one.tiles, start, end)
    spent = cost(one.tiles, start, min(end, now_us)) if now_us > start else 0
    return Used(min(spent, total), max(0, total - spent))


def binds(budget: Budgeted, team: str, project: str | None) -> bool:
    """Whether a budget pays for servers of a team and project."""
    return budget.team == team if budget.team is not None else budget.project == project


def reached(budget: Budgeted, used: Used) -> StepTaken | None:
    """The step that stands: of those reached the strictest, and of two alike the later one."""
    there = [
        one
        for one in budget.steps
        if used.spent_micro * 100 >= one.at_percent * budget.amount_micro
    ]
    return max(there, key=lambda one: (ACTS.index(one.act), one.at_percent), default=None)


def left(budget: Budgeted, used: Used) -> int:
    """What is neither spent nor committed, never below 0."""
    return max(0, budget.amount_micro - used.spent_micro - used.committed_micro)


def percent(budget: Budgeted, used: Used) -> int:
    """Whole percent of the amount that are spent, rounded down."""
    return used.spent_micro * 100 // budget.amount_micro


def obstacle(
    budgets: Sequence[Budgeted],
    wish: Spending,
    at: datetime,
    *,
    inside: bool,
    own: Iterable[str] = (),
    ahead: Sequence[Spending] = (),
) -> Obstacle | None:
    """Find the budget that is in the way of a server, or of more time for one.

    In this order: what can never be; a step that is reached; too little left of a hard one. Of
    several budgets the first in the policy's order is named.

    Parameters
    ----------
    budgets
        In their present periods, and hard ones in those to come that the wish may touch.
    wish
        What is asked for, until its end.
    at
        Now; steps of the present periods count.
    inside
        Whether the wish lies inside the guarantee.
    own
        Open leases that end when this starts: what they have committed comes back.
    ahead
        What others are given before it and is in no figure yet.
    """
    bound = [one for one in budgets if binds(one, wish.team, wish.project)]
    hard = [one for one in bound if one.hard]
    mine = tuple(own)
    looks = [_short(one, wish, mine, ahead) for one in hard]
    never = next((one for one in looks if one is not None and one.code in NEVER), None)
    if never is not None:
        return never
    for budget in bound:
        if budget.start <= at < budget.end:
            stands = _step(budget, wish, inside=inside)
            if stands is not None:
                return stands
    return next((one for one in looks if one is not None), None)


def _step(budget: Budgeted, wish: Spending, *, inside: bool) -> Obstacle | None:
    used = budget.of(wish.user)
    step = reached(budget, used)
    if step is None:
        return None
    code = _code(step, wish, inside=inside)
    price = cost(wish.tiles, wish.start_us, wish.end_us)
    lasts = _whole_s(wish.start_us, wish.end_us)
    if code is None:
        return None
    return Obstacle(code, budget, used, price, left(budget, used), lasts, 0, step)


def _code(step: StepTaken, wish: Spending, *, inside: bool) -> Code | None:
    match step.act:
        case "tell":
            return None
        case "guaranteed_only":
            return None if inside else "budget-guaranteed-only"
        case "small_only":
            return None if wish.units <= (step.most_units or 0) else "budget-small-only"
        case "no_new" | "stop":
            return "budget-no-new"


def _short(
    budget: Budgeted, wish: Spending, own: Sequence[str], ahead: Sequence[Spending]
) -> Obstacle | None:
    """Hold what a wish costs in a period against what a hard budget has for it."""
    period = (instant_us(budget.start), instant_us(budget.end))
    start, end = max(wish.start_us, period[0]), min(wish.end_us, period[1])
    if start >= end:
        return None
    used = budget.of(wish.user)
    price = cost(wish.tiles, start, end)
    back = sum(budget.committed.get(one, 0) for one in own)
    taken = sum(
        cost(one.tiles, max(one.start_us, period[0]), min(one.end_us, period[1]))
        for one in ahead
        if binds(budget, one.team, one.project) and (not budget.each or one.user == wish.user)
    )
    there = budget.amount_micro - used.spent_micro - used.committed_micro + back - taken
    lasts = _whole_s(start, end)
    if not is_priced(wish.tiles, start, end):
        return Obstacle("budget-unpriced", budget, used, price, max(0, there), lasts, 0)
    if price <= there:
        return None
    code: Code = "budget-too-small" if price > budget.amount_micro else "budget-short"
    fits = _whole_s(wish.start_us, start) + _fits_s(wish.tiles, start, end, there)
    return Obstacle(code, budget, used, price, max(0, there), lasts, fits)


def _fits_s(priced: Sequence[Tile], start_us: int, end_us: int, there: int) -> int:
    """For how many whole seconds from the start an amount pays."""
    low, high = 0, _whole_s(start_us, end_us)
    while low < high:
        middle = (low + high + 1) // 2
        if cost(priced, start_us, start_us + middle * 1_000_000) <= there:
            low = middle
        else:
            high = middle - 1
    return low


def _whole_s(start_us: int, end_us: int) -> int:
    return max(0, (end_us - start_us) // 1_000_000)
