"""The ledger in a file and in a PostgreSQL: what a decision waits for, and how long books travel.

Both flush each commit to the same disk.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from hub_ext.lease import GOVERNOR
from hub_ext.ledger.backup import backup
from hub_ext.ledger.move import move
from hub_ext.ledger.places import place
from hub_ext.ledger.postgres import PostgresDatabase
from hub_ext.ledger.restore import restore
from hub_ext.ledger.store import Ledger
from hub_ext.ledger.verify import examine
from tests.bench.table import Row, percentiles, timed
from tests.support.ledger_parts import NOON
from tests.support.ledger_year import live_through
from tests.support.postgres import PostgresServer

EVENTS = 100_000
OPEN = 200
ROUNDS = 200
NIGHT = timedelta(hours=8)


def rows() -> Iterator[Row]:
    """Each figure of the server against the same of the file, and the travels against a night."""
    with (
        tempfile.TemporaryDirectory() as name,
        PostgresServer.running(fsync="on", full_page_writes="on", autovacuum="on") as server,
    ):
        state, url = Path(name), server.url()
        target = PostgresDatabase.at(url)
        ledger = Ledger.open(state)
        live_through(ledger, EVENTS, running=OPEN)
        in_file = _decisions(ledger)
        ledger.close()
        travels = {
            "back up the file and verify it": lambda: backup(place(state, None), state / "one"),
            "move it to PostgreSQL and verify it": lambda: move(state, target, now=NOON),
            "back up from PostgreSQL and verify it": lambda: backup(target, state / "two"),
            "bring that back into a file": lambda: restore(
                state, None, state / "two", replace=True
            ),
            "verify in PostgreSQL": lambda: examine(target),
        }
        taken = {what: _clocked(act) for what, act in travels.items()}
        other = state / "other"
        other.mkdir()
        ledger = Ledger.open(other, url=url)
        in_server = _decisions(ledger)
        ledger.close()
    for (what, file), (_what, served) in zip(in_file.items(), in_server.items(), strict=True):
        for rank, one, peer in zip(("p50", "p95"), served, file, strict=True):
            yield Row(
                f"PostgreSQL: {what}, {rank}, {EVENTS:,} events",
                f"{one * 1000:.2f} ms",
                f"SQLite {peer * 1000:.2f} ms",
                f"{one / peer:.2f}",
            )
    for what, seconds in taken.items():
        limit = NIGHT.total_seconds()
        yield Row(
            f"{what}, {EVENTS:,} events",
            f"{seconds:.1f} s",
            "a night 28800 s",
            f"{seconds / limit:.5f}",
        )


def _decisions(ledger: Ledger) -> dict[str, tuple[float, float]]:
    turn = iter(range(10**9))

    def read() -> None:
        with ledger.transaction() as tx:
            assert len(tx.leases()) == OPEN

    def record() -> None:
        with ledger.transaction() as tx:
            number = next(turn)
            changed = tx.leases()[number % OPEN].model_copy(update={"priority": number})
            tx.record(changed, actor=GOVERNOR, at=NOON)

    return {
        f"read {OPEN} open leases": percentiles(timed(read, rounds=ROUNDS)),
        "read and record one change": percentiles(timed(record, rounds=ROUNDS)),
    }


def _clocked(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin
