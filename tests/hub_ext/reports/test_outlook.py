"""The forecast of a month: exact at its end, silent without history, honest about its band."""

import random
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.reports.outlook import (
    LEAST_ACTIVE,
    Days,
    Now,
    errors_at,
    outlook,
    remainder,
    runs_out,
    words,
)

FIRST, LAST = date(2026, 11, 1), date(2026, 11, 30)
EUR = 1_000_000
DAY = timedelta(days=1)
ERRORS = [600, 800, 900, 1000, 1100, 1200, 1500]


def every_day(start: date, end: date, amount: int) -> dict[date, int]:
    return {start + n * DAY: amount for n in range((end - start).days + 1)}


def a_team(seed: int, start: date, end: date) -> Days:
    """A made-up team: a pattern of weekdays, noise, and runs of some days."""
    chance = random.Random(seed)
    level = chance.uniform(20, 400)
    weekend = chance.uniform(0.05, 0.6)
    days: dict[date, int] = {}
    day, run = start, 0
    while day <= end:
        if run == 0 and chance.random() < 0.04:
            run = chance.randint(2, 6)
        busy = level * (weekend if day.weekday() > 4 else 1) * chance.lognormvariate(0, 0.5)
        days[day] = int((busy + (level * 1.5 if run else 0)) * EUR)
        run = max(0, run - 1)
        day += DAY
    return days


def months(first: date, count: int) -> list[tuple[date, date]]:
    found = []
    for _month in range(count):
        after = (first + timedelta(days=32)).replace(day=1)
        found.append((first, after - DAY))
        first = after
    return found


def test_before_ten_active_days_nothing_is_foretold() -> None:
    days = every_day(date(2026, 11, 2), date(2026, 11, 10), EUR)
    said = outlook(days, Now(date(2026, 11, 10), LAST, 1000), ERRORS, spent=9 * EUR)
    assert (said.point, said.low, said.active_days) == (None, None, LEAST_ACTIVE - 1)
    assert words(said, "EUR") == "EUR 9.00 so far. No forecast before 1 more day with a charge."


def test_with_little_history_the_point_is_rough_and_has_no_band() -> None:
    days = every_day(FIRST, date(2026, 11, 15), EUR)
    said = outlook(days, Now(date(2026, 11, 15), LAST, 1000), ERRORS, spent=15 * EUR)
    assert said.point is not None
    assert said.low is None
    assert "Roughly" in words(said, "EUR")


def test_a_steady_team_is_foretold_to_the_cent_and_weekends_count_as_weekends() -> None:
    days = {
        day: EUR if day.weekday() < 5 else 0
        for day in every_day(date(2026, 7, 1), date(2026, 11, 10), 0)
    }
    now = Now(date(2026, 11, 10), LAST, 1000)
    spent = sum(amount for day, amount in days.items() if day >= FIRST)
    said = outlook(days, now, ERRORS, spent=spent)
    weekdays = sum(1 for n in range(30) if (FIRST + n * DAY).weekday() < 5)
    assert said.point == weekdays * EUR
    assert said.low is not None
    assert said.high is not None
    assert said.low < said.point < said.high


@given(st.integers(0, 10**12), st.lists(st.integers(0, 5000), min_size=5, max_size=20))
def test_at_the_months_end_the_forecast_is_what_was_spent(spent: int, errors: list[int]) -> None:
    days = every_day(date(2026, 7, 1), LAST, 3 * EUR)
    said = outlook(days, Now(LAST, LAST, 1000), errors, spent=spent)
    assert said.point == said.low == said.high == spent


@given(st.integers(0, 100 * EUR), st.integers(1, 29))
def test_what_is_agreed_already_is_never_left_out(committed: int, day: int) -> None:
    now = Now(FIRST + (day - 1) * DAY, LAST, 500)
    days = every_day(date(2026, 7, 1), now.today, EUR)
    said = outlook(days, now, ERRORS, spent=day * EUR, committed=committed)
    assert said.point is not None
    assert said.low is not None
    assert said.low >= day * EUR + committed
    assert said.point >= said.low


def test_money_runs_out_within_a_range_of_days_or_lasts() -> None:
    days = every_day(date(2026, 7, 1), date(2026, 11, 10), EUR)
    now = Now(date(2026, 11, 10), LAST, 1000)
    found = runs_out(days, now, ERRORS, left=10 * EUR)
    assert found is not None
    assert date(2026, 11, 11) < found[0] <= date(2026, 11, 20) <= found[1]
    assert runs_out(days, now, ERRORS, left=100 * EUR) is None
    assert runs_out(days, now, ERRORS, left=0) == (now.today, now.today)


def test_a_day_that_is_half_over_has_its_other_half_to_come() -> None:
    days = every_day(date(2026, 7, 1), date(2026, 11, 29), 2 * EUR)
    assert remainder(days, Now(LAST, LAST, 500)) == EUR


@pytest.mark.parametrize("at", [5, 10, 20])
def test_the_band_holds_about_four_months_in_five(at: int) -> None:
    past = months(date(2026, 4, 1), 6)
    (now_first, now_last) = months(date(2026, 10, 1), 1)[0]
    teams = [a_team(seed, date(2026, 1, 1), now_last) for seed in range(80)]
    errors = errors_at(teams[:40], past, at)
    inside = 0
    for days in teams[40:]:
        today = now_first + (at - 1) * DAY
        seen = {day: amount for day, amount in days.items() if day <= today}
        spent = sum(amount for day, amount in seen.items() if day >= now_first)
        said = outlook(seen, Now(today, now_last, 1000), errors, spent=spent)
        actual = sum(amount for day, amount in days.items() if day >= now_first)
        assert said.low is not None
        assert said.high is not None
        inside += said.low <= actual <= said.high
    assert 27 <= inside <= 38, inside
