"""Makes everything again from the events and names the first difference. Reads, never writes.

Works beside a running governor: it sees the ledger as it stood at one instant.
"""

import hashlib
from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Row, select
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError
from ..i18n import _
from ..lease import Event, LeaseId, OpenLease, Posting, Value
from ..lease.months import ClosedMonth
from ..lease.reserving import Reservation, ReservationId
from .charges import CHARGE_POSTED, posting_of
from .fold import lease_in, take
from .generations import POLICY_APPLIED
from .known import Known
from .leases import lease_of_row, row_of
from .migrate import is_current
from .months import Months, digest_of, month_in
from .places import Database
from .records import CHAIN_START, chained, event_of, words_of
from .reservations import (
    reservation_in,
    row_of_reservation,
    take_reservation,
)
from .schema import (
    device_hold,
    event,
    last_ended,
    open_lease,
    policy_generation,
    posting,
    reservation,
)
from .sqlite import SqliteFile
from .whereabouts import moved_to

_AT_ONCE = 1000
"""Rows read at a time, so that a long record fits in memory."""


class Found(Value):
    """What a ledger holds, and the first difference in words; empty where all agrees.

    `moved` says where the ledger went, if it did.
    """

    events: int
    open_leases: int
    chain: str
    difference: str = ""
    moved: str = ""


class _DifferenceError(Exception):
    """The first difference."""


def verify(path: Path) -> Found:
    """Compare the ledger in a file with what its events say; see `examine`."""
    return examine(SqliteFile(path))


def examine(database: Database) -> Found:
    """Compare a ledger with what its events say.

    Raises
    ------
    LedgerError
        When there is no ledger, or it cannot be read at all.
    """
    if not database.exists():
        raise LedgerError(
            _("there is no ledger at {path}; name the state directory").format(path=database.words)
        )
    books = _Books()
    try:
        with database.reader().begin() as connection:
            _check_schema(connection)
            moved = moved_to(connection)
            difference = books.follow(connection)
    except SQLAlchemyError as error:
        words = words_of(error)
        if database.is_damaged(error):
            return books.found(_("the file is damaged: {error}").format(error=words))
        raise LedgerError(
            _("{path} cannot be read: {error}").format(path=database.words, error=words)
        ) from error
    return books.found(difference, moved)


def compare(connection: Connection) -> Found:
    """Compare what a transaction sees of a ledger of this version with what its events say."""
    books = _Books()
    return books.found(books.follow(connection))


class _Books:
    """What the events say, built up one by one."""

    def __init__(self) -> None:
        self._seq = 0
        self._chain = CHAIN_START
        self._open: dict[LeaseId, OpenLease] = {}
        self._written: dict[LeaseId, int] = {}
        self._ended: dict[tuple[str, str, str], int] = {}
        self._policies: dict[int, tuple[int, str, str]] = {}
        self._reserved: dict[ReservationId, Reservation] = {}
        self._reserved_by: dict[ReservationId, int] = {}
        self._months: list[ClosedMonth] = []

    def follow(self, connection: Connection) -> str:
        """Return the first difference; empty where there is none."""
        try:
            self.read(connection)
            self.compare(connection)
        except _DifferenceError as difference:
            return str(difference)
        return ""

    def found(self, difference: str, moved: str = "") -> Found:
        return Found(
            events=self._seq,
            open_leases=len(self._open),
            chain=self._chain,
            difference=difference,
            moved=moved,
        )

    def read(self, connection: Connection) -> None:
        """Go through all events, and through the postings beside them."""
        charged = chain.from_iterable(map(self._take, _rows(connection, event, "seq")))
        booked = _rows(connection, posting, "seq", "line")
        for line, row in zip_longest(charged, booked):
            if line is None or row is None or (row.seq, row.line, posting_of(row)) != line:
                seq, number = (row.seq, row.line) if line is None else line[:2]
                raise _DifferenceError(
                    _(
                        "charge {line} of event {seq} is not on the books as the event has it"
                    ).format(line=number, seq=seq)
                )

    def compare(self, connection: Connection) -> None:
        """Compare what the events gave with the tables."""
        rows = {row.lease_id: row for row in _rows(connection, open_lease, "lease_id")}
        for lease_id in sorted(rows.keys() | self._open.keys()):
            lease, row = self._open.get(lease_id), rows.get(lease_id)
            if lease is None or row is None or not self._same_lease(lease, row):
                raise _DifferenceError(
                    _("open lease {lease} differs from its events").format(lease=lease_id)
                )
        held = {
            (device.id, lease.id)
            for lease in self._open.values()
            if lease.holding
            for device in (*lease.devices, *lease.rest)
        }
        _agree(
            held, {tuple(row) for row in _rows(connection, device_hold, "device")}, _("held device")
        )
        ended = {(*key, seq) for key, seq in self._ended.items()}
        _agree(
            ended,
            {tuple(row) for row in _rows(connection, last_ended, "seq")},
            _("last ended lease"),
        )
        self._compare_policies(connection)
        self._compare_reservations(connection)
        self._compare_months(connection)

    def _compare_policies(self, connection: Connection) -> None:
        kept = set()
        for row in _rows(connection, policy_generation, "number"):
            if hashlib.sha256(row.text.encode()).hexdigest() != row.sha256:
                raise _DifferenceError(
                    _("the text of policy generation {number} was changed").format(
                        number=row.number
                    )
                )
            kept.add((row.number, row.seq, row.sha256, row.summary))
        said = {(number, *rest) for number, rest in self._policies.items()}
        _agree(said, kept, _("policy generation"))

    def _compare_reservations(self, connection: Connection) -> None:
        kept = {row.reservation_id: row for row in _rows(connection, reservation, "reservation_id")}
        for name in sorted(kept.keys() | self._reserved.keys()):
            one, row = self._reserved.get(name), kept.get(name)
            if one is None or row is None or not self._same_reservation(one, row):
                raise _DifferenceError(
                    _("reservation {name} differs from its events").format(name=name)
                )

    def _compare_months(self, connection: Connection) -> None:
        books = Months(connection, "", Known())
        for month in self._months:
            lines = books.postings(start=month.start, end=month.end)
            if len(lines) != month.lines or digest_of(lines) != month.digest:
                raise _DifferenceError(
                    _("the charges of {month} are not those it was closed with").format(
                        month=month.name
                    )
                )

    def _same_reservation(self, one: Reservation, row: "Row[Any]") -> bool:
        written = row_of_reservation(one, self._reserved_by[one.id])
        columns = row._asdict()
        if any(columns[name] != written[name] for name in written.keys() - {"body"}):
            return False
        try:
            return Reservation.model_validate_json(row.body) == one
        except ValidationError:
            return False

    def _take(self, row: "Row[Any]") -> Iterator[tuple[int, int, Posting]]:
        if row.seq != self._seq + 1:
            raise _DifferenceError(_("event {seq} is missing").format(seq=self._seq + 1))
        link = chained(self._chain, row._asdict())
        if link != row.chain:
            raise _DifferenceError(
                _("event {seq} was changed, or one before it was taken out").format(seq=row.seq)
            )
        self._seq, self._chain = row.seq, link
        try:
            record = event_of(row)
            self._fold(row.seq, record)
            yield from _charged(row.seq, record)
        except (LedgerError, ValidationError, ValueError, KeyError, TypeError) as error:
            raise _DifferenceError(
                _("event {seq} cannot be followed: {error}").format(seq=row.seq, error=error)
            ) from error

    def _fold(self, seq: int, record: Event) -> None:
        lease = lease_in(record)
        if lease is not None:
            take(self._open, lease, record.kind)
            self._written[lease.id] = seq
            if not lease.open:
                self._ended[lease.key.hub, lease.key.user, lease.key.server] = seq
        reserved = reservation_in(record)
        if reserved is not None:
            take_reservation(self._reserved, reserved, record.kind)
            self._reserved_by[reserved.id] = seq
        month = month_in(record)
        if month is not None:
            self._months.append(month)
        if record.kind == POLICY_APPLIED:
            body: Any = record.body
            self._policies[body["number"]] = (seq, body["sha256"], body["summary"])

    def _same_lease(self, lease: OpenLease, row: "Row[Any]") -> bool:
        """Compare all but the heartbeat, which no event tells."""
        written = row_of(lease, self._written[lease.id])
        columns = row._asdict()
        if any(columns[name] != written[name] for name in written.keys() - {"seen_at", "body"}):
            return False
        try:
            return lease_of_row(row.body, None) == lease
        except ValidationError:
            return False


def _charged(seq: int, record: Event) -> Iterator[tuple[int, int, Posting]]:
    if record.kind == CHARGE_POSTED:
        body: Any = record.body
        for number, line in enumerate(body["postings"]):
            yield seq, number, Posting.model_validate(line)


def _rows(connection: Connection, table: Any, *order: str) -> Iterator["Row[Any]"]:  # noqa: ANN401 - a Table
    query = select(table).order_by(*(table.c[name] for name in order))
    return iter(connection.execute(query.execution_options(yield_per=_AT_ONCE)))


def _agree(said: set[Any], kept: set[Any], what: str) -> None:
    for one in sorted(said ^ kept, key=str)[:1]:
        words = _("{what} {one} is missing") if one in said else _("{what} {one} has no event")
        raise _DifferenceError(words.format(what=what, one=", ".join(map(str, one))))


def _check_schema(connection: Connection) -> None:
    if not is_current(connection):
        raise LedgerError(
            _("the ledger is of an older version; start the governor once, it brings it up to date")
        )
