"""Where a ledger is: the SQLite file of its state directory, or a PostgreSQL.

What the two engines do differently is in `sqlite.py` and `postgres.py`, behind one protocol.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, Engine

from .postgres import PostgresDatabase
from .sqlite import SqliteFile

FILE = "ledger.sqlite"
"""Name of the ledger in the state directory."""

LOCK = "governor.lock"
"""Name of the lock in the state directory."""


class Fence(Protocol):
    """A claim that this process alone writes, beside the lock of the state directory."""

    def check(self) -> None:
        """Raise FencedError where the claim was lost."""

    def release(self) -> None:
        """Give the claim back; a second call does nothing."""


class Database(Protocol):
    """What a ledger needs of its database."""

    @property
    def words(self) -> str:
        """Where it is, for people; never a password."""

    @property
    def remedy(self) -> str:
        """What to do where it cannot be used."""

    def exists(self) -> bool:
        """Whether it can be there at all; a server is asked when it is used."""

    def writer(self) -> Engine:
        """Make an engine whose transactions may write."""

    def reader(self) -> Engine:
        """Make an engine whose transactions only read, each from one instant."""

    def fence(self) -> Fence:
        """Claim to be the only writer, at once or not at all."""

    def hold(self, connection: Connection) -> None:
        """Wait a short while for the write lock; the transaction has read nothing yet."""

    def is_passing(self, error: BaseException) -> bool:
        """Whether the same transaction, begun again, may go through at once."""

    def is_damaged(self, error: BaseException) -> bool:
        """Whether an error says that what is stored is broken."""

    def filled(self, connection: Connection) -> None:
        """Finish what rows copied in by hand leave behind."""


@contextmanager
def claimed(database: Database) -> Iterator[None]:
    """Be the only writer for a while.

    Raises
    ------
    LedgerError
        When a governor is.
    """
    fence = database.fence()
    try:
        yield
    finally:
        fence.release()


def noted(url: str) -> str:
    """Give an address as it may be written down: without a password. Empty stays empty.

    Raises
    ------
    LedgerError
        When it cannot be read.
    """
    return PostgresDatabase.at(url).bare if url else ""


def place(state: Path, url: str | None) -> Database:
    """Tell where the ledger of a state directory is.

    Raises
    ------
    LedgerError
        When the URL cannot be read; it is not shown, as it may hold a password.
    """
    return PostgresDatabase.at(url) if url else SqliteFile(state / FILE)
