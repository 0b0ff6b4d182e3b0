"""Whether a ledger is still where it was: marked as moved, or left behind without being moved.

Two ledgers that both look alive would be two truths about one hub; this module refuses them.
"""

from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, func, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError
from ..i18n import _
from ..units import instant_us
from . import sqlite
from .schema import event, instant, moved


def moved_to(connection: Connection) -> str:
    """Tell in words where and when a ledger was moved; empty where it was not."""
    row = connection.execute(select(moved.c.address, moved.c.at)).first()
    if row is None:
        return ""
    when = instant(row.at).isoformat(sep=" ", timespec="minutes")
    return _("moved to {address} at {when}").format(address=row.address, when=when)


def mark_moved(connection: Connection, address: str, chain: str, *, at: datetime) -> None:
    """Mark a ledger as moved; it can still be read, and no governor opens it again."""
    row = {"id": 1, "address": address, "at": instant_us(at), "chain": chain}
    connection.execute(insert(moved), row)


def check_not_moved(connection: Connection, words: str) -> None:
    """Refuse a ledger that was moved.

    Raises
    ------
    LedgerError
        When it was; says where.
    """
    if there := moved_to(connection):
        raise LedgerError(
            _(
                "{path} was {moved}. Set GPU_COMMONS_LEDGER_URL to that address, "
                "or restore a backup here"
            ).format(path=words, moved=there)
        )


def check_not_left_behind(path: Path) -> None:
    """Refuse to keep books elsewhere while a file with events lies here that was not moved.

    Raises
    ------
    LedgerError
        When such a file is there, or one that cannot be read.
    """
    if path.is_file() and _is_alive(path):
        raise LedgerError(
            _(
                "{path} holds a ledger that was not moved. Run `gpu-commons ledger move`, "
                "or take the file away if it is not needed"
            ).format(path=path)
        )


def _is_alive(path: Path) -> bool:
    try:
        with sqlite.reader(path).begin() as connection:
            tables = inspect(connection).get_table_names()
            if event.name not in tables:
                return False
            if moved.name in tables and moved_to(connection):
                return False
            return bool(connection.execute(select(func.count()).select_from(event)).scalar())
    except SQLAlchemyError:
        return True
