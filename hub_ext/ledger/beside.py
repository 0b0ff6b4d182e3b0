"""Reads a ledger beside its writer, or where none lives; it can write nothing.

Each reading sees the ledger as it stood at one instant.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError
from ..i18n import _
from ..lease import LeaseId
from ..metering import Use
from ..units import instant_us
from . import sqlite
from .known import Known
from .migrate import is_current
from .places import place
from .readings import HOUR_US, rollup_hour, uses
from .records import words_of
from .samples import FILE
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


def used(state: Path, start: datetime, end: datetime) -> dict[LeaseId, Use]:
    """What each lease really used in the hours that touch [start, end), as the governor kept it.

    Nothing is known where there are no samples, or they cannot be read.
    """
    path = state / FILE
    if not path.exists():
        return {}
    hours = rollup_hour.c.hour.between(
        instant_us(start) // HOUR_US, -(-instant_us(end) // HOUR_US) - 1
    )
    try:
        with sqlite.reader(path).begin() as connection:
            return uses(connection.execute(select(rollup_hour).where(hours)).all())
    except SQLAlchemyError:
        return {}
