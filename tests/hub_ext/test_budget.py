"""Budgets on whole numbers: what is left, which step stands, and what never happens."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.budget import (
    Obstacle,
    Spending,
    Tile,
    cost,
    is_priced,
    left,
    obstacle,
    percent,
    periods,
    reached,
    used_by,
)
from hub_ext.lease.budgets import ALL, Budgeted, StepTaken, Used
from hub_ext.policy.model.budgets import Budget
from hub_ext.units import instant_us

NOV = datetime(2026, 11, 1, tzinfo=UTC)
DEC = datetime(2026, 12, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR_US = 3600 * 1_000_000
NOON_US = instant_us(NOON)
FOREVER = (instant_us(NOV), instant_us(DEC.replace(year=2030)))


def budgeted(
    amount: int, *, posted: int | dict[str, int] = 0, running: Used | None = None, **how: object
) -> Budgeted:
    fields: dict[str, object] = {
        "name": "month",
        "team": "vision",
        "project": None,
        "each": False,
        "amount_micro": amount,
        "currency": "EUR",
        "hard": True,
        "steps": (),
        "start": NOV,
        "end": DEC,
        "posted": posted if isinstance(posted, dict) else {ALL: posted},
        "running": {ALL: running or Used()},
    }
    return Budgeted.model_validate(fields | how)


def wish(
    hours: float = 1, price: int | None = 3_600_000, user: str = "vera", start: int = NOON_US
) -> Spending:
    tile = Tile(*FOREVER, price)
    return Spending("vision", None, user, start, start + int(hours * HOUR_US), (tile,))


def stands(budget: Budgeted, asked: Spending, **how: object) -> Obstacle | None:
    return obstacle([budget], asked, NOON, **({"inside": True} | how))  # type: ignore[arg-type]


def code(found: Obstacle | None) -> str:
    return "" if found is None else found.code


# Periods


def hours_of(zone: str) -> list[int]:
    rules = Budget.model_validate({"team": "vision", "amount": "1"})
    year = periods(
        rules, zone, datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 12, 31, tzinfo=UTC)
    )
    assert all(one.end == after.start for one, after in pairwise(year))
    return [int((one.end - one.start).total_seconds()) // 3600 for one in year]


def test_a_month_has_the_hours_that_its_clocks_give_it() -> None:
    assert hours_of("UTC")[:3] == [744, 672, 744]
    assert [hours_of("Europe/Paris")[n] for n in (2, 9)] == [743, 745]
    assert hours_of("America/New_York")[10] == 721
    assert [hours_of("Australia/Sydney")[n] for n in (3, 9)] == [721, 743]


@given(
    st.sampled_from(
        ["UTC", "Europe/Paris", "America/New_York", "Australia/Sydney", "Asia/Kolkata"]
    ),
    st.integers(0, 365 * 24 * 60),
)
def test_every_instant_is_in_one_month_that_begins_at_midnight_there(
    zone: str, minutes: int
) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    rules = Budget.model_validate({"team": "vision", "amount": "1"})
    (one,) = periods(rules, zone, at, at + timedelta(seconds=1))
    assert one.start <= at < one.end
    local = one.start.astimezone(ZoneInfo(zone))
    assert (local.day, local.hour, local.minute) == (1, 0, 0)


def test_a_term_holds_on_its_own_days_alone() -> None:
    rules = Budget.model_validate(
        {"team": "v", "amount": "1", "period": {"from": "2026-10-25", "until": "2026-10-27"}}
    )
    before = datetime(2026, 10, 24, 21, 59, 58, tzinfo=UTC)
    assert periods(rules, "Europe/Paris", before, before + timedelta(seconds=1)) == ()
    (one,) = periods(rules, "Europe/Paris", before, before + timedelta(seconds=3))
    assert one.start == datetime(2026, 10, 24, 22, tzinfo=UTC)
    assert (one.end - one.start) == timedelta(hours=49), "a day with 25 hours and one with 24"
    assert rules.period != "month"
    assert rules.period.until == date(2026, 10, 27)


# What something costs


@given(st.integers(1, 9_999_999), st.integers(0, 10**7), st.integers(0, 10**7))
def test_parts_of_a_time_never_cost_less_than_the_whole(price: int, first: int, more: int) -> None:
    priced = (Tile(*FOREVER, price),)
    a, b = NOON_US, NOON_US + first * 1_000_000
    c = b + more * 1_000_000
    whole = cost(priced, a, c)
    assert whole <= cost(priced, a, b) + cost(priced, b, c) <= whole + 1
    assert whole * 3600 >= price * (first + more)


def test_time_without_a_price_is_seen_and_two_prices_add_up() -> None:
    gap = (Tile(NOON_US, NOON_US + HOUR_US, 3600), Tile(NOON_US + HOUR_US, FOREVER[1], None))
    assert is_priced(gap, NOON_US, NOON_US + HOUR_US)
    assert not is_priced(gap, NOON_US, NOON_US + HOUR_US + 1)
    assert cost(gap, NOON_US, NOON_US + 2 * HOUR_US) == 3600
    assert cost((*gap, Tile(*FOREVER, 400)), NOON_US, NOON_US + 2 * HOUR_US) == 4400


@given(
    st.integers(1, 10**7),
    st.integers(1, 10**6),
    st.lists(st.integers(0, 2 * 10**6), min_size=1, max_size=8),
)
def test_as_time_passes_what_is_committed_becomes_spent_and_nothing_goes_below_zero(
    price: int, life_s: int, looks_s: list[int]
) -> None:
    one = wish(price=price)._replace(end_us=NOON_US + life_s * 1_000_000)
    total = sum(used_by(one, FOREVER, NOON_US))
    before = Used(0, total)
    for seconds in sorted(looks_s):
        used = used_by(one, FOREVER, NOON_US + seconds * 1_000_000)
        assert used.committed_micro >= 0
        assert used.spent_micro >= before.spent_micro
        assert used.committed_micro <= before.committed_micro
        if seconds <= life_s:
            assert sum(used) == total
        else:
            assert used.committed_micro == 0
        before = used


def test_a_server_over_the_end_of_a_month_costs_each_month_its_own_hours() -> None:
    late = wish(4, start=instant_us(DEC) - HOUR_US)
    now = instant_us(DEC) - HOUR_US
    november = used_by(late, (instant_us(NOV), instant_us(DEC)), now)
    december = used_by(late, (instant_us(DEC), FOREVER[1]), now)
    assert (november, december) == (Used(0, 3_600_000), Used(0, 3 * 3_600_000))


# What stands in the way


def test_a_hard_budget_pays_to_the_last_micro_unit_and_no_further() -> None:
    assert code(stands(budgeted(3_600_000), wish(1))) == ""
    found = stands(budgeted(10_800_000, posted=7_200_001), wish(1))
    assert code(found) == "budget-short"
    assert found is not None
    assert (found.left_micro, found.cost_micro, found.fits_s) == (3_599_999, 3_600_000, 3599)


def test_what_can_never_be_paid_is_told_before_anything_else() -> None:
    assert code(stands(budgeted(3_599_999), wish(1))) == "budget-too-small"
    assert code(stands(budgeted(10**9), wish(price=None))) == "budget-unpriced"
    assert code(stands(budgeted(10**9, hard=False), wish(price=None))) == ""


def test_steps_count_what_is_spent_and_the_strictest_that_is_reached_stands() -> None:
    steps = (
        StepTaken(at_percent=80, act="guaranteed_only"),
        StepTaken(at_percent=100, act="no_new"),
    )
    soft = budgeted(1000, hard=False, steps=steps, running=Used(0, 10**9))
    assert code(stands(soft, wish(), inside=False)) == ""
    assert code(stands(soft.model_copy(update={"posted": {ALL: 799}}), wish(), inside=False)) == ""
    most = soft.model_copy(update={"posted": {ALL: 800}})
    assert code(stands(most, wish(), inside=False)) == "budget-guaranteed-only"
    assert code(stands(most, wish(), inside=True)) == ""
    over = soft.model_copy(update={"posted": {ALL: 1000}})
    assert code(stands(over, wish(), inside=True)) == "budget-no-new"
    assert reached(over, over.of("")) == steps[1]
    assert (percent(most, most.of("")), left(over, over.of(""))) == (80, 0)


def test_one_for_each_person_counts_a_person_alone() -> None:
    own = budgeted(3_600_000, each=True, posted={"vera": 1})
    assert code(stands(own, wish(user="vera"))) == "budget-short"
    assert code(stands(own, wish(user="viktor"))) == ""
    assert code(stands(own, wish(user="viktor"), ahead=[wish(user="vera")])) == ""
    assert code(stands(own, wish(user="viktor"), ahead=[wish(user="viktor")])) == "budget-short"


def test_a_lease_that_ends_for_it_gives_back_what_it_has_committed() -> None:
    full = budgeted(3_600_000, running=Used(0, 3_600_000), committed={"l-1": 3_600_000})
    assert code(stands(full, wish())) == "budget-short"
    assert code(stands(full, wish(), own=["l-1"])) == ""


def test_a_month_to_come_is_asked_too_where_a_server_lives_into_it() -> None:
    into = wish(2, start=instant_us(DEC) - HOUR_US)
    december = budgeted(
        3_600_000, start=DEC, end=DEC.replace(year=2027), running=Used(0, 1), posted={}
    )
    found = obstacle([budgeted(10**8), december], into, DEC - timedelta(hours=1), inside=True)
    assert code(found) == "budget-short"
    assert found is not None
    assert found.budget is december
    # An hour of it is November's, and December pays for the second one but for a micro-unit.
    assert (found.lasts_s, found.fits_s) == (3600, 3600 + 3599)


@given(st.lists(st.tuples(st.integers(1, 48), st.integers(1, 10**7)), min_size=1, max_size=50))
def test_fifty_launches_one_after_the_other_never_take_more_than_there_is(
    asked: list[tuple[int, int]],
) -> None:
    amount = 20_000_000
    started: list[Spending] = []
    for hours, price in asked:
        one = wish(hours, price)
        committed = sum(used_by(each, FOREVER, NOON_US).committed_micro for each in started)
        if stands(budgeted(amount, running=Used(0, committed)), one) is None:
            started.append(one)
    assert sum(cost(one.tiles, one.start_us, one.end_us) for one in started) <= amount


@given(st.permutations([1, 5, 9, 20]), st.integers(0, 40_000_000))
def test_the_order_in_which_others_are_listed_changes_nothing(
    hours: list[int], posted: int
) -> None:
    there = budgeted(200_000_000, posted=posted)
    answer = stands(there, wish(3), ahead=[wish(one) for one in hours])
    assert answer == stands(there, wish(3), ahead=[wish(one) for one in sorted(hours)])
