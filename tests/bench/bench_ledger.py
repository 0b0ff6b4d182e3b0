"""How long a decision waits for the ledger, with a short record and with a long one."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hub_ext.lease import GOVERNOR, LeaseState
from hub_ext.ledger.store import FILE, Ledger
from hub_ext.ledger.verify import verify
from tests.bench.table import Row, percentiles, timed
from tests.support.ledger_parts import NOON, a_lease

OPEN = 200
SHORT, LONG = 1_000, 100_000
ROUNDS = 200
LIFE = (LeaseState.requested, LeaseState.starting, LeaseState.running, LeaseState.closed)


class Figures(NamedTuple):
    """Times of one ledger, in seconds; percentiles are median and 95th."""

    read: tuple[float, float]
    record: tuple[float, float]
    opening: float
    verifying: float


def rows() -> Iterator[Row]:
    """Each figure with a long record, held against the same with a short one."""
    short, long = measure(SHORT), measure(LONG)
    beside = f"with {SHORT:,} events"
    for what, ours, peer in (
        (f"read {OPEN} open leases, p50", long.read[0], short.read[0]),
        (f"read {OPEN} open leases, p95", long.read[1], short.read[1]),
        ("read and record one change, fsync included, p50", long.record[0], short.record[0]),
        ("read and record one change, fsync included, p95", long.record[1], short.record[1]),
        ("open the ledger", long.opening, short.opening),
        ("verify the ledger", long.verifying, short.verifying),
    ):
        yield Row(
            f"{what}, {LONG:,} events",
            f"{ours * 1000:.2f} ms",
            f"{beside} {peer * 1000:.2f} ms",
            f"{ours / peer:.2f}",
        )


def measure(events: int) -> Figures:
    """Fill a ledger and time what is done with it."""
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        ledger = Ledger.open(state)
        _fill(ledger, events)
        turn = iter(range(10**9))

        def read() -> None:
            with ledger.transaction() as tx:
                assert len(tx.leases()) == OPEN

        def record() -> None:
            with ledger.transaction() as tx:
                number = next(turn)
                changed = tx.leases()[number % OPEN].model_copy(update={"priority": number})
                tx.record(changed, actor=GOVERNOR, at=NOON)

        reads, records = timed(read, rounds=ROUNDS), timed(record, rounds=ROUNDS)
        ledger.close()
        (opening,) = timed(lambda: Ledger.open(state).close(), rounds=1)
        begin = time.perf_counter()
        assert verify(state / FILE).difference == ""
        verifying = time.perf_counter() - begin
    return Figures(percentiles(reads), percentiles(records), opening, verifying)


def _fill(ledger: Ledger, events: int) -> None:
    """Write closed leases until the record has so many events, then the open ones."""
    for first in range(0, events // len(LIFE), 250):
        with ledger.transaction() as tx:
            for number in range(first, min(first + 250, events // len(LIFE))):
                for state in LIFE:
                    tx.record(a_lease(f"past-{number}", state), actor=GOVERNOR, at=NOON)
    with ledger.transaction() as tx:
        for number in range(OPEN):
            tx.record(a_lease(f"L{number}", LeaseState.running), actor=GOVERNOR, at=NOON)
