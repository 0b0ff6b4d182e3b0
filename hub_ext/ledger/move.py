"""Moves a ledger from its file into a PostgreSQL, once, and marks the file as moved.

All of it is there and verified before the file is marked; what broke off is only run again.
"""

from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError
from ..i18n import _
from .copying import contents, difference, transfer
from .lock import GovernorLock
from .migrate import migrate, upgrade
from .places import FILE, LOCK, claimed
from .postgres import PostgresDatabase
from .records import words_of
from .sqlite import SqliteFile
from .verify import Found, compare
from .whereabouts import check_not_moved, mark_moved


def move(state: Path, target: PostgresDatabase, *, now: datetime) -> Found:
    """Copy every table into an empty database, verify the copy, mark the file.

    Parameters
    ----------
    now
        Noted in the file.

    Raises
    ------
    LedgerError
        While a governor lives; when there is no ledger, it was moved already, the database is
        not empty, or the copy does not verify. The file is then still the ledger.
    """
    source = SqliteFile(state / FILE)
    if not source.exists():
        raise LedgerError(
            _("there is no ledger at {path}; name the state directory").format(path=source.words)
        )
    with ExitStack() as held:
        held.callback(GovernorLock.take(state / LOCK).release)
        try:
            held.enter_context(claimed(target))
            migrate(source.writer())
            found = _copied(source, target)
            with source.writer().begin() as connection:
                mark_moved(connection, target.words, found.chain, at=now)
        except (SQLAlchemyError, OSError) as error:
            raise LedgerError(
                _("the ledger was not moved: {error}. {path} is still the ledger").format(
                    error=words_of(error), path=source.words
                )
            ) from error
    return found


def _copied(source: SqliteFile, target: PostgresDatabase) -> Found:
    with source.reader().begin() as one, target.writer().begin() as other:
        check_not_moved(one, source.words)
        upgrade(other)
        target.hold(other)
        # A former try may have broken off before the file was marked.
        if contents(other) and not difference(one, other):
            return compare(other)
        return transfer(one, other, target)
