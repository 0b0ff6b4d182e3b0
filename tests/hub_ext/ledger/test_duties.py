"""Effects to be made, tombstones, policy generations."""

import pytest

from hub_ext.errors import LedgerError
from hub_ext.lease import GOVERNOR, LeaseId
from hub_ext.ledger.store import Ledger
from tests.support.ledger_parts import NOON, SECOND


def test_an_intent_is_open_until_it_is_settled(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        first = tx.intend("stop", LeaseId("L1"), {"cause": "user"}, at=NOON)
        second = tx.intend("start", LeaseId("L2"), {}, at=NOON)
        assert tx.intend("stop", LeaseId("L1"), {"cause": "admin"}, at=NOON) == first
        assert [found.id for found in tx.intents()] == [first, second]
    with ledger.transaction() as tx:
        tx.retried(first, at=NOON + SECOND)
        found = tx.intents()[0]
        assert (found.tries, found.tried_at, found.body) == (1, NOON + SECOND, {"cause": "user"})
        tx.settle(first, "204", at=NOON)
        tx.settle(first, "again", at=NOON)
        assert [found.id for found in tx.intents()] == [second]
        third = tx.intend("stop", LeaseId("L1"), {}, at=NOON)
        assert third not in {first, second}
    with pytest.raises(LedgerError, match="no intent 99"), ledger.transaction() as tx:
        tx.settle(99, "204", at=NOON)


def test_a_tombstone_stays_and_may_be_set_twice(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.bury("attempt-1", at=NOON)
        tx.bury("attempt-1", at=NOON)
    with ledger.transaction() as tx:
        assert tx.buried("attempt-1")


def test_policies_are_kept_whole_and_numbered(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        assert tx.generation() is None
        for number in (1, 2, 3):
            added = tx.add_generation(
                text=f"text {number}",
                sha256=f"sum {number}",
                summary=f"change {number}",
                at=NOON,
                actor=GOVERNOR,
            )
            assert added == number
        assert tx.generation() == (3, "text 3", "sum 3")
        assert [found.summary for found in tx.generations(2)] == ["change 3", "change 2"]
        kinds = [event.kind for _seq, event in tx.events()]
        assert kinds == ["policy.applied"] * 3
