"""All that is SQLite's own: connections, durability, the write lock, append-only triggers.

`postgres.py` is the same for PostgreSQL; nothing else in the package knows either.
"""

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy import event as signals
from sqlalchemy.pool import NullPool

from ..i18n import _

BUSY_S = 1.0
"""How long a write waits for another process's lock before it gives up, in seconds.

Less than the two seconds that a spawner waits for its answer, so that it still gets one.
"""

TRIGGERS = {
    f"{table}_refuses_{verb}": (
        f"CREATE TRIGGER {table}_refuses_{verb} BEFORE {verb.upper()} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is only added to'); END"
    )
    for table in ("event", "posting", "policy_generation")
    for verb in ("update", "delete")
} | {
    # INSERT OR REPLACE takes a row away without asking the DELETE trigger.
    "event_in_order": (
        "CREATE TRIGGER event_in_order BEFORE INSERT ON event "
        "WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM event) "
        "BEGIN SELECT RAISE(ABORT, 'event numbers have no gaps'); END"
    ),
    "posting_refuses_replace": (
        "CREATE TRIGGER posting_refuses_replace BEFORE INSERT ON posting "
        "WHEN EXISTS (SELECT 1 FROM posting WHERE (seq = NEW.seq AND line = NEW.line) "
        "OR (lease_id = NEW.lease_id AND start_at = NEW.start_at)) "
        "BEGIN SELECT RAISE(ABORT, 'posting is only added to'); END"
    ),
    "policy_generation_refuses_replace": (
        "CREATE TRIGGER policy_generation_refuses_replace BEFORE INSERT ON policy_generation "
        "WHEN EXISTS (SELECT 1 FROM policy_generation WHERE number = NEW.number) "
        "BEGIN SELECT RAISE(ABORT, 'policy_generation is only added to'); END"
    ),
}
"""Triggers by name, as the migrated schema has them."""


class FlockSuffices:
    """The kernel never takes `governor.lock` from a process that lives."""

    def check(self) -> None:
        """Nothing to check."""

    def release(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True)
class SqliteFile:
    """A ledger in one file; see `places.Database` for what each part means."""

    path: Path

    @property
    def words(self) -> str:
        """Its path."""
        return str(self.path)

    @property
    def remedy(self) -> str:
        """What to do where it cannot be used."""
        return _("Restore it from a backup or mend the disk")

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.is_file()

    def writer(self) -> Engine:
        """Make an engine that may write."""
        return writer(self.path)

    def reader(self) -> Engine:
        """Make an engine that only reads."""
        return reader(self.path)

    def fence(self) -> FlockSuffices:
        """Claim nothing more than `governor.lock`."""
        return FlockSuffices()

    def hold(self, connection: Connection) -> None:
        """Do nothing: `BEGIN IMMEDIATE` has the write lock already."""

    def is_passing(self, _error: BaseException) -> bool:
        """Tell that nothing goes through by itself: a locked file was waited for already."""
        return False

    def is_damaged(self, error: BaseException) -> bool:
        """Whether the file itself is broken."""
        return is_damaged(error)

    def filled(self, connection: Connection) -> None:
        """Do nothing: the next number of a row follows from those there."""


def writer(path: Path, *, synchronous: str = "FULL") -> Engine:
    """Make an engine that may write, in WAL, flushed to disk at each commit.

    Its connection may be used from another thread than the one that made it, from one at a time.
    The file is made readable to its owner alone.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return _engine(
        path, "rw", "BEGIN IMMEDIATE", ("journal_mode=WAL", f"synchronous={synchronous}")
    )


def reader(path: Path) -> Engine:
    """Make an engine that only reads, beside a writer or alone."""
    return _engine(path, "ro", "BEGIN", ())


def duplicate(source: Path, target: Path) -> None:
    """Copy a database, as it stands at one instant, into one file of its own.

    Its writer goes on meanwhile. The copy is on the disk when this returns.

    Raises
    ------
    sqlite3.Error
        When the source is no database, or either cannot be read or written.
    """
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    address = f"file:{quote(str(source.absolute()))}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=BUSY_S)) as one,
        closing(sqlite3.connect(target)) as other,
    ):
        one.backup(other)
        # No second file beside it: a backup is carried about alone.
        other.execute("PRAGMA journal_mode=DELETE")
    sync(target)


def settle(path: Path) -> None:
    """Bring everything that a database has beside its file into it, as far as it can be read."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=BUSY_S)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        file.execute("PRAGMA journal_mode=DELETE")


def sync(path: Path) -> None:
    """Flush a file and its name to the disk."""
    for one in (path, path.parent):
        descriptor = os.open(one, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_damaged(error: BaseException) -> bool:
    """Whether a database error says that the file itself is broken."""
    cause = getattr(error, "orig", error)
    code = getattr(cause, "sqlite_errorcode", None)
    # Extended codes keep the plain one in their low byte.
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _engine(path: Path, mode: str, begin: str, pragmas: tuple[str, ...]) -> Engine:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"

    def connect() -> sqlite3.Connection:
        # With isolation level None the driver starts no transaction of its own; ours begin below.
        connection = sqlite3.connect(
            address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        for pragma in ("foreign_keys=ON", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    signals.listen(engine, "begin", start)
    return engine
