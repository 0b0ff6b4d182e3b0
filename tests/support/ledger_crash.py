"""Dies by SIGKILL before one SQL statement after another of the same three transactions.

Run as a program of one thread with a directory, and GPU_COMMONS_LEDGER_URL for a PostgreSQL; forks
a child a kill point and prints what the ledger held after each, as JSON lines.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import event as signals

from hub_ext.lease import GOVERNOR, LeaseState
from hub_ext.ledger.places import place
from hub_ext.ledger.store import Ledger
from hub_ext.ledger.verify import examine
from tests.support.ledger_parts import NOON, a_lease, a_posting
from tests.support.ledger_places import open_after_a_death


def life(ledger: Ledger) -> None:
    """Three transactions: ask and start, run with a duty, close with a charge."""
    with ledger.transaction() as tx:
        tx.record(a_lease(), actor=GOVERNOR, at=NOON)
        tx.record(a_lease(state=LeaseState.starting), actor=GOVERNOR, at=NOON)
    with ledger.transaction() as tx:
        tx.record(a_lease(state=LeaseState.running), actor=GOVERNOR, at=NOON)
        tx.intend("stop", a_lease().id, {}, at=NOON)
    with ledger.transaction() as tx:
        tx.record(a_lease(state=LeaseState.closed), actor=GOVERNOR, at=NOON)
        tx.post([a_posting(), a_posting(start=3600, end=7200)], at=NOON)
        tx.settle(tx.intents()[0].id, "done", at=NOON)


def die_before(number: int, ledger: Ledger) -> None:
    """Arrange the end of this process before its statement or commit of that number."""
    count = 0

    def tick(*_details: Any, **_more: Any) -> None:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "commit"):
        signals.listen(ledger._engine, name, tick)


def forked(work: Callable[[], None]) -> int:
    """Run work in a child and return how it ended, as `os.waitstatus_to_exitcode` says."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            # Also when work fails: the parent must not go on twice.
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def born(state: Path, url: str | None) -> None:
    """Make an empty ledger, in a file or in a schema that is emptied first."""
    state.mkdir(exist_ok=True)
    if url is not None:
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(
                "DO $$ BEGIN EXECUTE format('DROP SCHEMA %I CASCADE', current_schema()); END $$"
            )
            connection.execute(
                "DO $$ BEGIN EXECUTE format('CREATE SCHEMA %I', current_setting('search_path')); "
                "END $$"
            )
    Ledger.open(state, url=url).close()


def main(directory: Path, url: str | None) -> None:
    """Go through all kill points until a life is lived to its end."""
    # A server takes its time to be asked; every third of its statements tells as much.
    for number in range(1, 200, 3 if url else 1):
        state = directory / str(number)
        born(state, url)

        def work(state: Path = state, number: int = number) -> None:
            ledger = Ledger.open(state, url=url)
            die_before(number, ledger)
            life(ledger)

        ended = forked(work)
        ledger = open_after_a_death(state, url)
        with ledger.transaction() as tx:
            line = {
                "ended": ended,
                "head": tx.head(),
                "leases": [lease.state for lease in tx.leases()],
                "intents": len(tx.intents()),
                "charges": len(tx.postings(start=NOON, end=NOON.replace(year=2030))),
                "difference": examine(place(state, url)).difference,
                "epoch": ledger.epoch,
            }
        ledger.close()
        print(json.dumps(line), flush=True)
        if ended == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.environ.get("GPU_COMMONS_LEDGER_URL"))
