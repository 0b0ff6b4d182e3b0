"""Charges over time: every midnight splits them, and all stretches together are the charges."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.budget import Period
from hub_ext.lease import Posting
from hub_ext.reports.days import MOST_DAYS, by_day, largest, stacked
from tests.support.ledger_parts import NOON, a_posting

ZONE = "Europe/Paris"
OCTOBER = Period(datetime(2026, 9, 30, 22, tzinfo=UTC), datetime(2026, 10, 31, 23, tzinfo=UTC))
"""745 hours in Paris: the clocks go back on the 25th."""


def charge(number: int, start: datetime, seconds: int, project: str | None = None) -> Posting:
    line = a_posting(f"L{number}", 0, seconds, project=project)
    return line.model_copy(update={"start": start, "end": start + timedelta(seconds=seconds)})


@given(
    st.lists(
        st.tuples(
            st.integers(0, 744 * 3600), st.integers(1, 200_000), st.sampled_from([None, "a", "b"])
        ),
        max_size=8,
    )
)
def test_all_days_together_are_the_charges(held: list[tuple[int, int, str | None]]) -> None:
    lines = [
        charge(number, OCTOBER.start + timedelta(seconds=at), seconds, project)
        for number, (at, seconds, project) in enumerate(held)
    ]
    inside = Period(OCTOBER.start, OCTOBER.end + timedelta(days=4))
    stack = stacked(lines, ZONE, "EUR", inside, lambda one: one.project or "none")
    total = sum(line.amount_micro or 0 for line in lines)
    assert sum(stack.sums) == total
    assert sum(by_day(lines, ZONE, "EUR", inside.end).values()) == total


def test_a_month_of_a_longer_hour_has_its_days_and_a_year_its_months() -> None:
    line = charge(1, OCTOBER.start, 745 * 3600)
    stack = stacked([line], ZONE, "EUR", OCTOBER, lambda _one: "all")
    assert len(stack.titles) == 31
    assert stack.titles[24] == "2026-10-25"
    hours = [amount / 4_200_000 for amount in stack.amounts["all"]]
    assert (hours[23], hours[24], hours[25]) == (24, 25, 24)
    year = Period(OCTOBER.start, OCTOBER.start + timedelta(days=365))
    months = stacked([line], ZONE, "EUR", year, lambda _one: "all")
    assert months.titles[:2] == ("2026-10", "2026-11")
    assert len(months.titles) < MOST_DAYS


def test_other_currencies_and_what_has_no_price_are_in_no_bar() -> None:
    lines = [
        a_posting("L1", currency="USD"),
        a_posting("L2", amount_micro=None, price_micro_per_hour=None),
    ]
    window = Period(NOON, NOON + timedelta(days=1))
    assert stacked(lines, ZONE, "EUR", window, lambda _one: "x").amounts == {}


def test_the_smallest_names_are_joined_and_nothing_is_lost() -> None:
    lines = [charge(n, NOON, 3600 * (n + 1), f"p{n}") for n in range(9)]
    window = Period(NOON, NOON + timedelta(days=2))
    stack = stacked(lines, ZONE, "EUR", window, lambda one: str(one.project))
    joined = largest(stack, 4, "others")
    assert list(joined.amounts) == ["p8", "p7", "p6", "others"]
    assert joined.sums == stack.sums
