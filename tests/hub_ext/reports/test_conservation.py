"""Sums by team, project, person and lease are the ledger's, or the report is not made."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Posting, ProjectName, TeamName, UserName
from hub_ext.reports.conservation import difference, of_lines
from hub_ext.reports.tables import Asked
from tests.support.ledger_parts import NOON, a_posting

DAY = timedelta(days=1)
ASKED = Asked("all", NOON - DAY, NOON + DAY, NOON + DAY, "EUR")


@st.composite
def lines(draw: st.DrawFn) -> list[Posting]:
    made = []
    for number in range(draw(st.integers(0, 8))):
        start = draw(st.integers(-(10**5), 10**5))
        price = draw(st.none() | st.integers(0, 10**8))
        made.append(
            a_posting(
                f"L{number}",
                start,
                start + draw(st.integers(0, 10**5)),
                user=UserName(draw(st.sampled_from(["ada", "bo"]))),
                team=TeamName(draw(st.sampled_from(["vision", "speech"]))),
                project=draw(st.sampled_from([None, ProjectName("atlas")])),
                currency=draw(st.sampled_from(["EUR", "USD"])),
                price_micro_per_hour=price,
                amount_micro=None if price is None else draw(st.integers(-(10**9), 10**9)),
            )
        )
    return made


@given(lines())
def test_every_way_to_add_up_gives_the_ledgers_sum(charges: list[Posting]) -> None:
    assert difference(charges, of_lines(charges, ASKED), ASKED) == ""


def test_a_ledger_that_says_otherwise_is_named_with_both_figures() -> None:
    words = difference([a_posting()], {"EUR": 1}, ASKED)
    assert words == "by leases it is EUR 4200000, in the ledger EUR 1"
    assert difference([], {"EUR": 1}, ASKED)
