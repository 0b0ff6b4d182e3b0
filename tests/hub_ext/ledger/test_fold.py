"""The rule that turns events into open leases, without a database."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import LedgerError
from hub_ext.lease import Event, LeaseId, LeaseState, OpenLease
from hub_ext.ledger.fold import body_of, fold, lease_in
from tests.support.ledger_parts import NOON, a_lease


def told(lease: OpenLease, kind: str = "") -> Event:
    return Event(
        kind=kind or f"lease.{lease.state}", at=NOON, lease_id=lease.id, body=body_of(lease)
    )


def test_a_lease_comes_changes_and_goes() -> None:
    asked, run = a_lease(), a_lease(state=LeaseState.starting)
    one = fold({}, told(asked))
    two = fold(one, told(run))
    three = fold(two, told(run.model_copy(update={"priority": 3}), "lease.updated"))
    four = fold(three, told(a_lease(state=LeaseState.closed)))
    assert (one, two) == ({asked.id: asked}, {asked.id: run})
    assert three[asked.id].priority == 3
    assert four == {}


def test_a_lease_may_be_refused_in_one_step_after_its_request() -> None:
    events = [told(a_lease()), told(a_lease(state=LeaseState.closed))]
    assert fold(fold({}, events[0]), events[1]) == {}


def test_other_events_change_nothing() -> None:
    before = {LeaseId("L1"): a_lease()}
    note = Event(kind="notice.given", at=NOON, lease_id=LeaseId("L1"), body={"v": 1})
    assert fold(before, note) is before
    assert lease_in(note) is None


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (told(a_lease(state=LeaseState.noticed)), "cannot become noticed after nothing"),
        (told(a_lease(), "lease.running"), "recorded as lease.running where lease.requested"),
        (told(a_lease(), "lease.updated"), "recorded as lease.updated where lease.requested"),
        (told(a_lease()).model_copy(update={"lease_id": LeaseId("L2")}), "carries lease L1"),
        (told(a_lease()).model_copy(update={"body": {"v": 2}}), "unknown version"),
        (told(a_lease()).model_copy(update={"body": {"v": 1, "lease": {}}}), "carries no lease"),
    ],
)
def test_what_breaks_the_rule_is_refused(event: Event, words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        fold({}, event)


@given(states=st.lists(st.sampled_from(LeaseState), max_size=8))
def test_no_order_of_states_leaves_a_closed_lease_open(states: list[LeaseState]) -> None:
    leases: dict[LeaseId, OpenLease] = {}
    for state in states:
        try:
            leases = dict(fold(leases, told(a_lease(state=state))))
        except LedgerError:
            continue
        assert (LeaseId("L1") in leases) is (state is not LeaseState.closed)
