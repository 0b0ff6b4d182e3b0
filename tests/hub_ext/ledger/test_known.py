"""What the writer keeps between transactions is what stands in the ledger, whatever happened."""

import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import LedgerError
from hub_ext.lease import EDGES, GOVERNOR, LeaseState, OpenLease
from hub_ext.ledger.beside import reading
from hub_ext.ledger.store import FILE, Ledger, Tx
from hub_ext.ledger.verify import verify
from tests.support.ledger_parts import NOON, a_device, a_lease

NAMES = ("a", "b", "c")
acts = st.tuples(
    st.sampled_from(["step", "seen", "update"]),
    st.sampled_from(NAMES),
    st.integers(0, 3),
    st.booleans(),
)


class TakenBackError(Exception):
    """The story wants nothing of it to have happened."""


def present(tx: Tx, name: str) -> OpenLease | None:
    return next((one for one in tx.leases() if one.key.user == f"user-{name}"), None)


def act(tx: Tx, what: str, name: str, number: int, count: int) -> None:
    """Do something to the lease of one server, allowed or not."""
    lease = present(tx, name)
    if lease is None:
        new = a_lease(f"{name}-{count}", devices=(a_device(f"GPU-{number}"),))
        key = a_lease(name).key
        tx.record(new.model_copy(update={"key": key}), actor=GOVERNOR, at=NOON)
    elif what == "seen":
        tx.seen([lease.id], at=NOON + timedelta(seconds=number))
    elif what == "update":
        devices = (a_device(f"GPU-{number}"),)
        changed = lease.model_copy(update={"priority": number, "devices": devices})
        tx.record(changed, actor=GOVERNOR, at=NOON)
    else:
        states = sorted(EDGES[lease.state])
        state = states[number % len(states)]
        closed_at = NOON if state is LeaseState.closed else None
        changed = lease.model_copy(update={"state": state, "closed_at": closed_at})
        tx.record(changed, actor=GOVERNOR, at=NOON)


@given(st.lists(acts, max_size=12))
def test_what_is_kept_is_what_stands(story: list[tuple[str, str, int, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        ledger = Ledger.open(state)
        for count, (what, name, number, fails) in enumerate(story):
            with suppress(LedgerError, TakenBackError), ledger.transaction() as tx:
                act(tx, what, name, number, count)
                if fails:
                    raise TakenBackError
            with reading(state) as beside, ledger.transaction() as tx:
                assert tx.leases() == beside.leases()
                assert tx.head() == beside.head()
                for lease in beside.leases():
                    assert tx.lease(lease.id) == lease
                    assert tx.lease_of(lease.key) == lease
        ledger.close()
        assert verify(state / FILE).difference == ""
