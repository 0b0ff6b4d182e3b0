"""Brings a backup back, into a place without a ledger or in the stead of the one there.

The one there is moved aside, never deleted. Where this breaks off, the old ledger is still whole.
"""

import os
import shutil
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import inspect, select
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError
from ..i18n import _
from ..lease import Value
from . import sqlite
from .backup import prepared
from .copying import contents, count_on, epoch_of, transfer
from .lock import GovernorLock
from .migrate import VERSION_TABLE, revision, upgrade
from .places import FILE, LOCK, claimed, place
from .postgres import PostgresDatabase
from .records import words_of
from .schema import epoch, event, metadata
from .verify import Found


class Restored(Value):
    """What was brought back, and where the ledger that it replaced is now, if there was one."""

    found: Found
    aside: str


def restore(state: Path, url: str | None, file: Path, *, replace: bool) -> Restored:
    """Make a backup the ledger of a state directory.

    Parameters
    ----------
    url
        Address of the PostgreSQL that holds the ledger; None for the file in `state`.
    replace
        Whether a ledger with anything in it may be moved aside.

    Raises
    ------
    LedgerError
        While a governor lives; when the backup differs from its events, or cannot be read; when
        a ledger is there and may not be replaced.
    """
    draft = state / f"{FILE}.restoring"
    with ExitStack() as held:
        held.callback(GovernorLock.take(state / LOCK).release)
        draft.unlink(missing_ok=True)
        held.callback(draft.unlink, missing_ok=True)
        found = prepared(file, draft)
        if found.difference:
            raise LedgerError(
                _("{file} differs from its own events: {difference}; name another backup").format(
                    file=file, difference=found.difference
                )
            )
        database = place(state, url)
        try:
            if isinstance(database, PostgresDatabase):
                aside = _into_server(database, draft, replace=replace)
            else:
                aside = _into_file(state / FILE, draft, replace=replace)
        except (SQLAlchemyError, OSError) as error:
            raise LedgerError(
                _("{path} cannot be written: {error}. {remedy}").format(
                    path=database.words, error=words_of(error), remedy=database.remedy
                )
            ) from error
    return Restored(found=found, aside=aside)


class _Former(NamedTuple):
    """What is known of the file that is replaced; one that is damaged is not blank."""

    epoch: int
    blank: bool


def _into_file(path: Path, draft: Path, *, replace: bool) -> str:
    former = _look(path)
    if former and not (former.blank or replace):
        raise _occupied(str(path))
    with sqlite.writer(draft).begin() as connection:
        count_on(connection, former.epoch if former else 0)
    sqlite.settle(draft)
    sqlite.sync(draft)
    aside = _set_aside(path) if former else None
    try:
        # In one step: whoever looks finds the old ledger or the new one, each whole.
        draft.replace(path)
    except BaseException:
        if aside:
            _take_back(path, aside)
        raise
    sqlite.sync(path)
    return str(aside or "")


def _look(path: Path) -> _Former | None:
    if not path.is_file():
        return None
    sqlite.settle(path)
    try:
        with sqlite.reader(path).begin() as connection:
            blank = not inspect(connection).has_table(epoch.name)
            found = _Former(
                epoch=0 if blank else epoch_of(connection),
                blank=blank or connection.execute(select(event).limit(1)).first() is None,
            )
    except SQLAlchemyError:
        return _Former(epoch=0, blank=False)
    if _beside(path, "-wal").exists():
        raise LedgerError(
            _("{path} is being read by another process; try again when that is done").format(
                path=path
            )
        )
    return found


def _set_aside(path: Path) -> Path:
    taken = (path.with_name(f"{path.name}.replaced-{number}") for number in count(1))
    aside = next(name for name in taken if not name.exists())
    try:
        os.link(path, aside)
    except OSError:
        shutil.copy2(path, aside)
    # Only a damaged one has still something beside it, see `_look`.
    for tail in ("-wal", "-shm"):
        if _beside(path, tail).exists():
            _beside(path, tail).rename(_beside(aside, tail))
    return aside


def _take_back(path: Path, aside: Path) -> None:
    aside.unlink()
    for tail in ("-wal", "-shm"):
        if _beside(aside, tail).exists():
            _beside(aside, tail).rename(_beside(path, tail))


def _beside(path: Path, tail: str) -> Path:
    return path.with_name(path.name + tail)


def _into_server(database: PostgresDatabase, draft: Path, *, replace: bool) -> str:
    aside, former = "", 0
    with (
        claimed(database),
        sqlite.reader(draft).begin() as source,
        database.writer().begin() as target,
    ):
        if revision(target) is not None:
            upgrade(target)
            former = epoch_of(target)
            if contents(target):
                if not replace:
                    raise _occupied(database.words)
                aside = database.set_aside(target, (*metadata.tables, VERSION_TABLE))
        upgrade(target)
        database.hold(target)
        transfer(source, target, database, former)
    return aside


def _occupied(path: str) -> LedgerError:
    return LedgerError(
        _("{path} holds a ledger already; add --replace to move that one aside").format(path=path)
    )
