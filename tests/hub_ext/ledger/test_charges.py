"""Charges on the books: once, in one piece, for ever."""

import pytest

from hub_ext.errors import LedgerError
from hub_ext.lease import Cause, LeaseId, TeamName
from hub_ext.ledger.store import Ledger
from tests.support.ledger_parts import NOON, SECOND, a_posting


def test_charges_are_read_by_window_person_and_team(ledger: Ledger) -> None:
    lines = [
        a_posting("L1", 0, 100),
        a_posting("L1", 100, 200, amount_micro=None, price_micro_per_hour=None),
        a_posting("L2", 150, 300, team=TeamName("speech"), cause=Cause.culled),
        a_posting("L3", 200, 200, amount_micro=0),
    ]
    with ledger.transaction() as tx:
        tx.post(lines, at=NOON)

        def read(start: int, end: int, **by: object) -> list[tuple[str, int]]:
            window = {"start": NOON + start * SECOND, "end": NOON + end * SECOND}
            found = tx.postings(**window, **by)  # type: ignore[arg-type]
            return [(line.lease_id, line.seconds) for line in found]

        assert tx.postings(start=NOON, end=NOON + 900 * SECOND) == tuple(lines)
        assert read(0, 100) == [("L1", 100)]
        assert read(100, 150) == [("L1", 100)]
        assert read(100, 151) == [("L1", 100), ("L2", 150)]
        assert read(200, 201) == [("L2", 150), ("L3", 0)]
        assert read(0, 900, user="user-L1") == [("L1", 100), ("L1", 100)]
        assert read(0, 900, teams={"speech"}) == [("L2", 150)]
        assert read(0, 900, teams=()) == []
        assert tx.charged_until(LeaseId("L1")) == NOON + 200 * SECOND
        assert [event.kind for _seq, event in tx.events()] == ["charge.posted"] * 3


def test_a_repeat_changes_nothing(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.post([a_posting(end=100)], at=NOON)
        tx.post([a_posting(end=100), a_posting(start=100, end=150)], at=NOON)
        tx.post([a_posting(end=100), a_posting(start=100, end=150)], at=NOON)
        tx.post([], at=NOON)
        assert len(tx.postings(start=NOON, end=NOON + 900 * SECOND)) == 2
        assert tx.head() == 2


@pytest.mark.parametrize(("start", "end"), [(0, 100), (50, 150), (101, 150)])
def test_charges_neither_overlap_nor_leave_gaps(ledger: Ledger, start: int, end: int) -> None:
    with ledger.transaction() as tx:
        tx.post([a_posting(end=100)], at=NOON)
    with pytest.raises(LedgerError, match="without gap"), ledger.transaction() as tx:
        tx.post([a_posting(start=start, end=end, amount_micro=1)], at=NOON)


def test_a_number_beyond_the_database_is_refused_in_words(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.post([a_posting(amount_micro=2**63 - 1)], at=NOON)
        assert tx.postings(start=NOON, end=NOON + SECOND)[0].amount_micro == 2**63 - 1
    with (
        pytest.raises(LedgerError, match="larger than the ledger holds"),
        ledger.transaction() as tx,
    ):
        tx.post([a_posting("L2", amount_micro=2**63)], at=NOON)
