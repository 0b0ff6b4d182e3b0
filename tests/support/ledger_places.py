"""Where a story keeps its ledger: in the file of its state directory, or in a PostgreSQL."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_ext.errors import LedgerError
from hub_ext.ledger.places import Database, place
from hub_ext.ledger.store import FILE, Ledger
from hub_ext.ledger.verify import Found, examine
from tests.support.postgres import PostgresServer

ENGINES = ("sqlite", "postgres")


@dataclass
class Place:
    """One ledger's place. Without a server it is the file in `state`."""

    state: Path
    server: PostgresServer | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.server is not None and not self.name:
            self.name = self.server.schema()

    @property
    def url(self) -> str | None:
        """What a governor is told."""
        return self.server.url(schema=self.name) if self.server else None

    @property
    def database(self) -> Database:
        """The product's own view of the place."""
        return place(self.state, self.url)

    def open(self) -> Ledger:
        """Open the ledger for writing."""
        return Ledger.open(self.state, url=self.url)

    def verify(self) -> Found:
        """Compare the books with their events."""
        return examine(self.database)

    @contextmanager
    def raw(self, *, guarded: bool = True) -> Iterator[Any]:
        """Connect beside the product; `execute()` commits at once, if wanted without triggers."""
        if self.server is None:
            with closing(sqlite3.connect(self.state / FILE, isolation_level=None)) as file:
                if not guarded:
                    _drop_triggers(file)
                yield file
        else:
            with self.server.superuser("books") as connection:
                connection.execute(f"SET search_path = {self.name}".encode())
                if not guarded:
                    connection.execute("SET session_replication_role = replica")
                yield connection

    def drop(self) -> None:
        """Take the place away."""
        if self.server is not None:
            self.server.drop(self.name)

    def fresh_state(self, name: str) -> Path:
        """Make a state directory of another governor."""
        state = self.state / name
        state.mkdir()
        return state

    def lose(self, what: str) -> int:
        """Cut the governor's connections to the server: `writer`, or `governor` with the lock."""
        assert self.server is not None
        return self.server.disconnect(only=f"gpu-commons {what}%")


def open_after_a_death(state: Path, url: str | None) -> Ledger:
    """Open a ledger as the successor of a process that died just now.

    The kernel gives a file's lock back at once; a server does when it sees the connection go.
    """
    until = time.monotonic() + 10
    while True:
        try:
            return Ledger.open(state, url=url)
        except LedgerError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _drop_triggers(file: sqlite3.Connection) -> None:
    triggers = file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (trigger,) in triggers.fetchall():
        file.execute(f"DROP TRIGGER {trigger}")
