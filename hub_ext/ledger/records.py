"""Events: appended in order, each chained to the one before, and read back.

Base of the other books of a transaction. Nothing here changes or removes a row.
"""

import hashlib
import json
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, insert, select

from ..errors import LedgerError
from ..lease import Actor, Event, LeaseId
from ..units import instant_us
from .known import Known
from .schema import event, instant

if TYPE_CHECKING:
    from sqlalchemy.sql import Executable

_PAGE = 500
"""Events that are read at once where all of a kind are."""

CHAIN_START = "0" * 64
"""What the first event is chained to."""


def chained(before: str, row: dict[str, Any]) -> str:
    """Hash an event's row together with the chain before it (SHA-256, hexadecimal)."""
    fields = [
        before,
        *(row[name] for name in ("seq", "hub", "at", "kind", "lease_id", "actor", "body")),
    ]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


def packed(value: object) -> str:
    """Write JSON in one form, so that the same value is the same text."""
    return json.dumps(value, separators=(",", ":"))


def event_of(row: "Row[Any]") -> Event:
    """Read a row of `event`."""
    return Event(
        kind=row.kind,
        at=instant(row.at),
        lease_id=row.lease_id,
        actor=Actor.model_validate_json(row.actor),
        body=json.loads(row.body),
    )


def words_of(error: BaseException) -> str:
    """The database's own words in one line, without the statement, its values and details."""
    own = getattr(error, "orig", None) or error
    told = getattr(getattr(own, "diag", None), "message_primary", None)
    return told or " ".join(str(own).split())


_APPEND = insert(event)
_NEWEST = select(event.c.seq, event.c.chain).order_by(event.c.seq.desc()).limit(1)


class Records:
    """The event part of one transaction.

    A write that failed half-way spoils the whole transaction: it can then only roll back, even
    where the caller went on.
    """

    def __init__(self, connection: Connection, hub: str, known: Known) -> None:
        self._connection: Connection | None = connection
        self._hub = hub
        self._known = known
        self._spoiled = False

    def _run(self, statement: "Executable", values: Any = None) -> Any:  # noqa: ANN401 - SQLAlchemy's result has no common type
        if self._connection is None:
            raise LedgerError("this transaction has ended; open another one")
        self.seal()
        try:
            return self._connection.execute(statement, values)
        except BaseException:
            self._spoiled = True
            raise

    def seal(self) -> None:
        """Refuse to go on with a transaction in which a statement failed, or to commit it.

        Raises
        ------
        LedgerError
            When one did.
        """
        if self._spoiled:
            raise LedgerError("a write failed in this transaction; all of it is taken back")

    def end(self) -> None:
        """Make every later use of this transaction an error."""
        self._connection = None

    def head(self) -> int:
        """Number of the newest event of all, 0 before the first."""
        return self._head()[0]

    def seq(self, lease_id: LeaseId) -> int:
        """Number of the newest event of a lease, 0 where there is none."""
        found = self._run(select(func.max(event.c.seq)).where(event.c.lease_id == lease_id))
        return int(found.scalar() or 0)

    def seq_at(self, at: datetime) -> int:
        """Number of the first event that is not before an instant; one past the newest if none is.

        It halves the record, which is in the order of time but for steps of a clock.
        """
        low, high, us = 1, self.head() + 1, instant_us(at)
        while low < high:
            middle = (low + high) // 2
            found = self._run(select(event.c.at).where(event.c.seq == middle)).scalar()
            if found is not None and found < us:
                low = middle + 1
            else:
                high = middle
        return low

    def append(self, record: Event, *, hub: str | None = None) -> int:
        """Add one event and return its number.

        Raises
        ------
        LedgerError
            When its body is no JSON.
        """
        before, chain = self._head()
        try:
            body = packed(record.body)
        except (TypeError, ValueError) as error:
            raise LedgerError(f"the body of {record.kind} is no JSON: {error}") from error
        row: dict[str, Any] = {
            "seq": before + 1,
            "hub": hub or self._hub,
            "at": instant_us(record.at),
            "kind": record.kind,
            "lease_id": record.lease_id,
            "actor": record.actor.model_dump_json(),
            "body": body,
        }
        row["chain"] = chained(chain, row)
        self._run(_APPEND, row)
        self._known.newest = (before + 1, row["chain"])
        return before + 1

    def events(
        self,
        *,
        lease_id: LeaseId | None = None,
        kinds: Collection[str] | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int = 200,
        newest: bool = False,
    ) -> tuple[tuple[int, Event], ...]:
        """Events above `after`, below `before`, with their numbers; newest first if asked."""
        query = select(event).where(event.c.seq > after)
        if lease_id is not None:
            query = query.where(event.c.lease_id == lease_id)
        if before is not None:
            query = query.where(event.c.seq < before)
        if kinds is not None:
            query = query.where(event.c.kind.in_(kinds))
        query = query.order_by(event.c.seq.desc() if newest else event.c.seq).limit(limit)
        return tuple((row.seq, event_of(row)) for row in self._run(query))

    def every(self, kinds: Collection[str], after: int = 0) -> Iterator[Event]:
        """Give all events of some kinds above a number in their order, read in pages."""
        while page := self.events(kinds=kinds, after=after, limit=_PAGE):
            for _seq, one in page:
                yield one
            after = page[-1][0]

    def _head(self) -> tuple[int, str]:
        if self._known.newest is None:
            row = self._run(_NEWEST).first()
            self._known.newest = (row.seq, row.chain) if row else (0, CHAIN_START)
        return self._known.newest
