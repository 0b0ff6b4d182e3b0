"""Sums of charges: read once, counted on as charges are posted, true after what went wrong."""

from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub_ext.lease import Posting, ProjectName, TeamName, UserName
from hub_ext.ledger.store import Ledger
from hub_ext.ledger.tally import MOST_KEPT, Stretch, Sums, Tally
from tests.support.ledger_parts import NOON, SECOND, a_posting

HOUR = Stretch(NOON, NOON + 3600 * SECOND, "EUR")


def sums(ledger: Ledger, stretch: Stretch = HOUR) -> Sums:
    with ledger.transaction() as tx:
        return tx.charged(stretch)


def anew(ledger: Ledger, stretch: Stretch = HOUR) -> Sums:
    """Read the same from the ledger alone."""
    ledger._known.tally.clear()
    return sums(ledger, stretch)


def test_sums_are_of_the_stretch_by_team_project_and_person(ledger: Ledger) -> None:
    lines = [
        a_posting("L1", 0, 3600, amount_micro=100, project=ProjectName("maps")),
        a_posting("L2", 1800, 5400, amount_micro=60, user=UserName("sam")),
        a_posting("L3", -1800, 1800, amount_micro=40, team=TeamName("speech")),
        a_posting("L4", 3600, 7200, amount_micro=7),
        a_posting("L5", 0, 60, amount_micro=None, price_micro_per_hour=None),
        a_posting("L6", 0, 60, amount_micro=9, currency="USD"),
    ]
    with ledger.transaction() as tx:
        tx.post(lines, at=NOON)
        found = tx.charged(HOUR)
    assert found.of_team == {"vision": 130, "speech": 20}
    assert found.of_project == {"maps": 100}
    assert found.in_team["vision"] == {"user-L1": 100, "sam": 30}
    assert found.in_project == {"maps": {"user-L1": 100}}


def test_what_is_posted_later_is_counted_without_another_look(ledger: Ledger) -> None:
    assert sums(ledger).of_team == {}
    with ledger.transaction() as tx:
        tx.post([a_posting(end=100, amount_micro=5)], at=NOON)
        assert tx.charged(HOUR).of_team == {"vision": 5}
    with ledger.transaction() as tx:
        tx.post([a_posting(start=100, end=7200, amount_micro=7100)], at=NOON)
    assert sums(ledger).of_team == {"vision": 3505}
    assert anew(ledger).of_team == {"vision": 3505}


class UndoneError(Exception):
    """Ends a transaction before its commit."""


def undone(ledger: Ledger, posting: Posting, *stretches: Stretch) -> list[Sums]:
    """Post in a transaction that fails; give the sums of some stretches as they were inside."""
    seen: list[Sums] = []

    def act() -> None:
        with ledger.transaction() as tx:
            tx.post([posting], at=NOON)
            seen.extend(deepcopy(tx.charged(one)) for one in stretches)
            raise UndoneError

    with pytest.raises(UndoneError):
        act()
    return seen


def test_a_transaction_that_fails_leaves_no_trace_in_the_sums(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.post([a_posting("L1", amount_micro=6000)], at=NOON)
    assert sums(ledger).of_team == {"vision": 6000}
    # One is known before, one is read first inside, with what is taken back in it.
    minute = HOUR._replace(end=NOON + 60 * SECOND)
    inside = undone(ledger, a_posting("L2", amount_micro=1200), HOUR, minute)
    assert [one.of_team["vision"] for one in inside] == [7200, 120]
    assert sums(ledger).of_team == {"vision": 6000}
    assert sums(ledger, minute).of_team == {"vision": 100} == anew(ledger, minute).of_team


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(
    st.lists(
        st.tuples(st.integers(1, 5000), st.integers(0, 10**7), st.booleans(), st.booleans()),
        max_size=8,
    )
)
def test_sums_kept_are_those_read_anew_whatever_came_through(
    ledger: Ledger, steps: list[tuple[int, int, bool, bool]]
) -> None:
    with ledger.transaction() as tx:
        start = tx.head() * 10_000
    stretch = Stretch(NOON + start * SECOND, NOON + (start + 6000) * SECOND, "EUR")
    sums(ledger, stretch)
    for number, (length, amount, fails, looks) in enumerate(steps):
        posting = a_posting(f"L{start}-{number}", start, start + length, amount_micro=amount)
        looked = (stretch,) if looks else ()
        if fails:
            undone(ledger, posting, *looked)
            continue
        with ledger.transaction() as tx:
            tx.post([posting], at=NOON)
            for one in looked:
                tx.charged(one)
    kept = {team: micro for team, micro in sums(ledger, stretch).of_team.items() if micro}
    assert kept == {team: micro for team, micro in anew(ledger, stretch).of_team.items() if micro}


def test_only_so_many_stretches_are_kept() -> None:
    tally, reads = Tally(), list[int]()

    def read(number: int) -> None:
        def load() -> tuple[()]:
            reads.append(number)
            return ()

        tally.of(HOUR._replace(start=NOON - number * SECOND), load)

    for number in range(MOST_KEPT + 1):
        read(number)
    read(MOST_KEPT)
    assert reads == list(range(MOST_KEPT + 1))
    read(0)
    assert reads[-1] == 0
