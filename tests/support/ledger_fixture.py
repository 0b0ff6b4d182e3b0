"""Writes a small ledger with something in every table, as this version's schema has it.

`python -m tests.support.ledger_fixture` keeps it as `tests/data/ledger-<schema>.sqlite` when a
schema lands; a file that is there is never written again, because it stands for what users have.
"""

import hashlib
import sqlite3
import sys
import tempfile
from pathlib import Path

from hub_ext.lease import GOVERNOR, Cause, Event, LeaseId, LeaseState
from hub_ext.ledger.reservations import MADE
from hub_ext.ledger.store import FILE, Ledger
from tests.support.ledger_parts import NOON, SECOND, a_lease, a_posting
from tests.support.reserving import reservation

DATA = Path(__file__).parents[1] / "data"


def lived(ledger: Ledger) -> None:
    """Let a ledger see two servers, one to its end, two policies, a reservation and duties."""
    for number, words in enumerate(("version: 1", "version: 1  # ä\n"), 1):
        with ledger.transaction() as tx:
            tx.add_generation(
                text=words,
                sha256=hashlib.sha256(words.encode()).hexdigest(),
                summary=f"change {number}",
                at=NOON,
                actor=GOVERNOR,
            )
    with ledger.transaction() as tx:
        for name in ("L1", "L2"):
            for state in (LeaseState.requested, LeaseState.starting, LeaseState.running):
                tx.record(a_lease(name, state), actor=GOVERNOR, at=NOON)
        tx.record(a_lease("L3"), actor=GOVERNOR, at=NOON)
        tx.seen([LeaseId("L1")], at=NOON + 60 * SECOND)
        settled = tx.intend("stop", LeaseId("L2"), {"cause": "user"}, at=NOON)
        tx.intend("stop", LeaseId("L1"), {"cause": "admin"}, at=NOON)
        tx.retried(settled, at=NOON + SECOND)
        tx.bury("attempt-gone", at=NOON)
    with ledger.transaction() as tx:
        closed = a_lease("L2", LeaseState.closed, cause=Cause.user)
        tx.record(closed, actor=GOVERNOR, at=NOON + 7200 * SECOND)
        unpriced = a_posting("L2", 3600, 7200, amount_micro=None, price_micro_per_hour=None)
        tx.post([a_posting("L2"), unpriced], at=NOON + 7200 * SECOND)
        tx.settle(settled, "204", at=NOON + 7200 * SECOND)
        reserved = reservation("2026-12-02 09:00", "2026-12-02 12:00", weekly_until="2026-12-30")
        tx.record_reservation(reserved, MADE, actor=GOVERNOR, at=NOON)
        tx.append(Event(kind="admin.note", at=NOON, body={"words": "grüße \u0000"}))


def write(folder: Path) -> Path:
    """Make the fixture of the schema of this version; return its path, made or found."""
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        ledger = Ledger.open(state)
        lived(ledger)
        ledger.close()
        file = sqlite3.connect(state / FILE, isolation_level=None)
        revision = file.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        file.execute("PRAGMA journal_mode=DELETE")
        file.close()
        kept = folder / f"ledger-{revision}.sqlite"
        if not kept.exists():
            kept.write_bytes((state / FILE).read_bytes())
    return kept


if __name__ == "__main__":
    sys.stdout.write(f"{write(DATA)}\n")
