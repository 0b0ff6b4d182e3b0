"""Reads a ledger beside its writer, or where none lives; it can write nothing.

Each reading sees the ledger as it stood at one instant.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError
from ..i18n import _
from .known import Known
from .migrate import is_current
from .places import place
from .records import words_of
from .store import Tx


@contextmanager
def reading(state: Path, *, url: str | None = None) -> Iterator[Tx]:
    """Open one reading of the ledger of a state directory; a write in it is refused.

    Parameters
    ----------
    url
        Address of the PostgreSQL that holds the ledger; None for the file in `state`.

    Raises
    ------
    LedgerError
        When there is no ledger, it is of an older version, or it cannot be read.
    """
    database = place(state, url)
    if not database.exists():
        raise LedgerError(
            _("there is no ledger at {path}; name the state directory with --state").format(
                path=database.words
            )
        )
    try:
        with database.reader().begin() as connection:
            if not is_current(connection):
                raise LedgerError(
                    _(
                        "the ledger is of an older version; start the governor once, it brings it "
                        "up to date"
                    )
                )
            tx = Tx(connection, "", Known())
            try:
                yield tx
            finally:
                tx.end()
    except SQLAlchemyError as error:
        raise LedgerError(
            _("{path} cannot be read: {error}. {remedy}").format(
                path=database.words, error=words_of(error), remedy=database.remedy
            )
        ) from error
