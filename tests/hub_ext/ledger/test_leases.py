"""Leases recorded step by step, and the projections that the database itself guards."""

from datetime import timedelta

import pytest

from hub_ext.errors import LedgerError
from hub_ext.lease import EDGES, GOVERNOR, Cause, LeaseId, LeaseState, ServerKey, UserName
from hub_ext.ledger.store import Ledger
from tests.support.ledger_parts import NOON, SECOND, a_device, a_lease

LIFE = (
    LeaseState.requested,
    LeaseState.starting,
    LeaseState.running,
    LeaseState.noticed,
    LeaseState.running,
    LeaseState.stopping,
    LeaseState.closed,
)


def test_a_life_from_request_to_close(ledger: Ledger) -> None:
    key = a_lease().key
    for number, state in enumerate(LIFE):
        with ledger.transaction() as tx:
            lease = a_lease(state=state, state_since=NOON + number * SECOND)
            assert tx.record(lease, actor=GOVERNOR, at=NOON + number * SECOND) == number + 1
            assert tx.lease(lease.id) == lease
            assert tx.lease_of(key) == (lease if lease.open else None)
            assert tx.last_ended(key) == (None if lease.open else lease)
            assert tx.seq(lease.id) == number + 1
    with ledger.transaction() as tx:
        kinds = [event.kind for _seq, event in tx.events()]
        assert kinds == [f"lease.{state}" for state in LIFE]
        assert tx.leases() == ()
        assert tx.lease(LeaseId("never")) is None


def test_a_change_that_keeps_the_state_is_an_update(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.record(a_lease(), actor=GOVERNOR, at=NOON)
        tx.record(a_lease(priority=5), actor=GOVERNOR, at=NOON)
        assert tx.events(newest=True, limit=1)[0][1].kind == "lease.updated"
        assert tx.leases()[0].priority == 5


@pytest.mark.parametrize("former", LeaseState)
def test_steps_that_are_no_edge_are_refused(ledger: Ledger, former: LeaseState) -> None:
    path = {
        LeaseState.requested: [],
        LeaseState.queued: [LeaseState.requested],
        LeaseState.held: [LeaseState.requested, LeaseState.queued],
        LeaseState.starting: [LeaseState.requested],
        LeaseState.running: [],
        LeaseState.noticed: [LeaseState.running],
        LeaseState.stopping: [LeaseState.running],
        LeaseState.closed: [LeaseState.requested],
    }[former]
    with ledger.transaction() as tx:
        for state in (*path, former):
            tx.record(a_lease(state=state), actor=GOVERNOR, at=NOON)
    for state in set(LeaseState) - EDGES[former] - {former}:
        with (
            pytest.raises(LedgerError, match=r"cannot become|stays closed"),
            ledger.transaction() as tx,
        ):
            tx.record(a_lease(state=state), actor=GOVERNOR, at=NOON)
        with ledger.transaction() as tx:
            found = tx.lease(LeaseId("L1"))
            assert found
            assert found.state is former


@pytest.mark.parametrize(
    "state", sorted(set(LeaseState) - {LeaseState.requested, LeaseState.running})
)
def test_a_lease_enters_as_requested_or_adopted(ledger: Ledger, state: LeaseState) -> None:
    with pytest.raises(LedgerError, match="after nothing"), ledger.transaction() as tx:
        tx.record(a_lease(state=state), actor=GOVERNOR, at=NOON)


def test_no_device_is_held_twice_until_its_lease_closed(ledger: Ledger) -> None:
    devices = (a_device("GPU-a"), a_device("GPU-b"))
    with ledger.transaction() as tx:
        tx.record(a_lease("L1", LeaseState.running, devices=devices), actor=GOVERNOR, at=NOON)
        # A request that only names a device holds nothing yet.
        tx.record(a_lease("L2", devices=devices[1:]), actor=GOVERNOR, at=NOON)
    second = a_lease("L2", LeaseState.starting, devices=devices[1:])
    with pytest.raises(LedgerError, match="GPU-b"), ledger.transaction() as tx:
        tx.record(second, actor=GOVERNOR, at=NOON)
    with ledger.transaction() as tx:
        for state in (LeaseState.stopping, LeaseState.closed):
            tx.record(a_lease("L1", state, devices=devices), actor=GOVERNOR, at=NOON)
        tx.record(second, actor=GOVERNOR, at=NOON)


def test_a_server_has_one_open_lease(ledger: Ledger) -> None:
    key = ServerKey(user=UserName("ann"))
    with ledger.transaction() as tx:
        tx.record(a_lease("L1", key=key), actor=GOVERNOR, at=NOON)
    with pytest.raises(LedgerError, match="open lease already"), ledger.transaction() as tx:
        tx.record(a_lease("L2", key=key), actor=GOVERNOR, at=NOON)
    with ledger.transaction() as tx:
        denied = a_lease("L1", LeaseState.closed, key=key, cause=Cause.denied)
        tx.record(denied, actor=GOVERNOR, at=NOON)
        tx.record(a_lease("L2", key=key), actor=GOVERNOR, at=NOON)
        assert tx.last_ended(key) == denied


def test_a_heartbeat_moves_last_seen_forward_without_an_event(ledger: Ledger) -> None:
    minute = timedelta(minutes=1)
    lease = a_lease(state=LeaseState.running, last_seen_at=NOON)
    with ledger.transaction() as tx:
        tx.record(lease, actor=GOVERNOR, at=NOON)
        tx.leases()
    with ledger.transaction() as tx:
        tx.seen([lease.id], at=NOON + minute)
        tx.seen([lease.id], at=NOON)
    with ledger.transaction() as tx:
        for found in (tx.lease(lease.id), tx.lease_of(lease.key), *tx.leases()):
            assert found
            assert found.last_seen_at == NOON + minute
        assert tx.head() == 1
        seen = tx.leases()[0]
        tx.record(seen.model_copy(update={"priority": 1}), actor=GOVERNOR, at=NOON)
        assert tx.leases()[0].last_seen_at == NOON + minute


def test_leases_come_by_time_of_request(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        for name, second in (("L3", 0), ("L1", 2), ("L2", 0)):
            lease = a_lease(name, requested_at=NOON + second * SECOND)
            tx.record(lease, actor=GOVERNOR, at=NOON)
        assert [lease.id for lease in tx.leases()] == ["L2", "L3", "L1"]


def test_many_changed_leases_are_read_at_once(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        for number in range(150):
            tx.record(a_lease(f"L{number}"), actor=GOVERNOR, at=NOON)
        assert len(tx.leases()) == 150
        closed = a_lease("L7", LeaseState.closed)
        tx.record(closed, actor=GOVERNOR, at=NOON)
        assert closed.id not in {lease.id for lease in tx.leases()}
