"""Copies every row of a ledger into another one, of either engine, and shows that both are equal.

Works inside transactions that its caller opens: nothing of a copy counts before its commit.
"""

import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, insert, select

from ..errors import LedgerError
from ..i18n import _
from .places import Database
from .schema import (
    device_hold,
    epoch,
    event,
    intent,
    last_ended,
    moved,
    open_lease,
    policy_generation,
    posting,
    reservation,
    tombstone,
)
from .verify import Found, compare

TABLES = (
    event,
    posting,
    policy_generation,
    open_lease,
    device_hold,
    last_ended,
    reservation,
    intent,
    tombstone,
)
"""What a ledger consists of, each table after those it refers to.

`moved` is not in it: the copy is where it went. `epoch` is counted on, see `count_on`.
"""

_AT_ONCE = 1000
_WIDTH = 2**256


def transfer(source: Connection, target: Connection, database: Database, former: int = 0) -> Found:
    """Fill an empty ledger with all of another one, and verify it; see `fill`.

    Raises
    ------
    LedgerError
        When it does not come out true to its events.
    """
    fill(source, target, database, former)
    found = compare(target)
    if found.difference:
        raise _differs(found.difference)
    return found


def fill(source: Connection, target: Connection, database: Database, former: int = 0) -> None:
    """Fill an empty ledger with all of another one; both are of this version.

    Parameters
    ----------
    database
        Where the target is.
    former
        Newest epoch of the ledger that was there before.

    Raises
    ------
    LedgerError
        When the target has rows already, or does not come out equal.
    """
    if filled := contents(target):
        raise LedgerError(
            _("{path} is not empty ({tables}); name an empty one").format(
                path=database.words, tables=", ".join(filled)
            )
        )
    copy(source, target)
    database.filled(target)
    count_on(target, max(former, epoch_of(source)))
    if differs := difference(source, target):
        raise _differs(differs)


def copy(source: Connection, target: Connection) -> None:
    """Copy all rows."""
    for table in TABLES:
        rows = (row._asdict() for row in _rows(source, table))
        while batch := list(islice(rows, _AT_ONCE)):
            target.execute(insert(table), batch)


def difference(one: Connection, other: Connection) -> str:
    """Name the first table whose rows differ between two ledgers; empty where all are equal."""
    for table in TABLES:
        if _print(one, table) != _print(other, table):
            return _("table {table}").format(table=table.name)
    return ""


def contents(connection: Connection) -> tuple[str, ...]:
    """Name the tables of a ledger of this version that have rows."""
    return tuple(
        table.name
        for table in (*TABLES, moved)
        if connection.execute(select(table).limit(1)).first() is not None
    )


def epoch_of(connection: Connection) -> int:
    """Tell how often a ledger was opened for writing."""
    return int(connection.execute(select(epoch.c.number)).scalar() or 0)


def count_on(connection: Connection, former: int) -> None:
    """Begin a ledger's epochs above its own and a former one's.

    A governor of either that still lives, lock or no lock, finds that it was overtaken.
    """
    number = max(epoch_of(connection), former) + 1
    connection.execute(delete(epoch))
    connection.execute(insert(epoch), {"id": 1, "number": number, "pid": os.getpid()})


def _differs(what: str) -> LedgerError:
    return LedgerError(
        _("the copy differs: {difference}; nothing of it is kept").format(difference=what)
    )


def _rows(connection: Connection, table: Table) -> Iterator["Row[Any]"]:
    query = select(table).order_by(*table.primary_key)
    return iter(connection.execute(query.execution_options(yield_per=_AT_ONCE)))


def _print(connection: Connection, table: Table) -> tuple[int, int]:
    """Count the rows of a table and sum their hashes: two databases order text differently."""
    count = total = 0
    for row in _rows(connection, table):
        count += 1
        total += int.from_bytes(hashlib.sha256(repr(tuple(row)).encode()).digest())
    return count, total % _WIDTH
