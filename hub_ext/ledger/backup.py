"""Backups: a ledger of either engine as one SQLite file, made while its governor goes on.

The file is a ledger itself: `verify` reads it, and `restore` brings it back to either engine.
"""

import os
import sqlite3
from pathlib import Path

from sqlalchemy import inspect
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError
from ..i18n import _
from . import sqlite
from .copying import fill
from .migrate import is_current, upgrade
from .places import Database
from .records import words_of
from .schema import event
from .sqlite import SqliteFile
from .verify import Found, compare, examine
from .whereabouts import check_not_moved


def backup(database: Database, file: Path) -> Found:
    """Write a ledger as it stands at one instant into a new file, and verify the file.

    A ledger that differs from its events is written all the same: it is what there is.

    Raises
    ------
    LedgerError
        When the file is there already, or the ledger cannot be read or was moved.
    """
    if file.exists():
        raise LedgerError(_("{file} is there already; name another file").format(file=file))
    if not database.exists():
        raise LedgerError(
            _("there is no ledger at {path}; name the state directory").format(path=database.words)
        )
    draft = _beside(file, "draft")
    try:
        _write(database, draft)
        found = _read_again(draft)
        if found.moved:
            # A backup of it, night after night, would look like one of the ledger.
            raise LedgerError(
                _("{path} was {moved}; back up that one").format(
                    path=database.words, moved=found.moved
                )
            )
        draft.rename(file)
        sqlite.sync(file)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise LedgerError(
            _("{path} cannot be written to {file}: {error}").format(
                path=database.words, file=file, error=words_of(error)
            )
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return found


def prepared(file: Path, draft: Path) -> Found:
    """Copy a backup of any schema, bring the copy up to date and verify it.

    Raises
    ------
    LedgerError
        When the backup is no ledger, of a newer version, or was moved.
    """
    try:
        sqlite.duplicate(file, draft)
        with sqlite.writer(draft).begin() as connection:
            if not inspect(connection).has_table(event.name):
                raise LedgerError(_("{file} is no ledger; name a backup").format(file=file))
            upgrade(connection)
            check_not_moved(connection, str(file))
            found = compare(connection)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise LedgerError(
            _("{file} cannot be read: {error}; name another backup").format(
                file=file, error=words_of(error)
            )
        ) from error
    sqlite.settle(draft)
    return found


def _write(database: Database, draft: Path) -> None:
    if isinstance(database, SqliteFile):
        sqlite.duplicate(database.path, draft)
        return
    target = SqliteFile(draft)
    with database.reader().begin() as source, target.writer().begin() as copied:
        if not is_current(source):
            raise LedgerError(
                _(
                    "the ledger is of an older version; back it up with that version, or start "
                    "the governor once, it brings it up to date"
                )
            )
        check_not_moved(source, database.words)
        upgrade(copied)
        fill(source, copied, target)
    sqlite.settle(draft)


def _read_again(draft: Path) -> Found:
    """Verify a backup without changing it, also where its schema is an older one."""
    with sqlite.reader(draft).begin() as connection:
        current = is_current(connection)
    if current:
        return examine(SqliteFile(draft))
    scratch = _beside(draft, "read")
    try:
        return prepared(draft, scratch)
    finally:
        scratch.unlink(missing_ok=True)


def _beside(file: Path, what: str) -> Path:
    return file.with_name(f".{file.name}.{what}-{os.getpid()}")
