"""Charges of one transaction: posted once, tiling each lease, never changed.

Amounts come from `metering`; nothing is calculated here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, bindparam, case, func, insert, not_, or_, select

from ..errors import LedgerError
from ..lease import GOVERNOR, Actor, Event, LeaseId, Posting
from ..metering import clip
from ..units import instant_us
from .records import Records, event_of
from .schema import LARGEST, event, instant, posting
from .tally import FlavorSum, Line, Stretch, Sums, flavor_sum, part_of

CHARGE_POSTED = "charge.posted"
"""Kind of the event that carries the postings of one lease: `{"v": 1, "postings": […]}`."""

MONTH_CLOSED = "month.closed"
"""Kind of the event whose body is a whole closed month: `{"v": 1, "month": {…}}`."""

_AT_ONCE = 500
"""Names in one question: databases take so many values and no more."""

_SAME = (
    "lease_id",
    "team",
    "project",
    "profile",
    "pool",
    "flavor",
    "units",
    "standing",
    "seconds",
    "price_micro_per_hour",
    "amount_micro",
    "currency",
    "cause",
    "corrects",
    "bounded",
)


# Made once: to put a statement together takes as long as to run it.
_UNTIL = select(func.max(posting.c.end_at)).where(posting.c.lease_id == bindparam("of_lease"))
_POST = insert(posting)


def row_of_posting(line: Posting, seq: int, number: int) -> dict[str, Any]:
    """Make the row of a posting."""
    return {
        "seq": seq,
        "line": number,
        "user_name": line.user,
        "server_name": line.server,
        "start_at": instant_us(line.start),
        "end_at": instant_us(line.end),
        **{name: getattr(line, name) for name in _SAME},
        "standing": line.standing.value,
        "cause": line.cause.value if line.cause else None,
    }


def posting_of(row: "Row[Any]") -> Posting:
    """Read a row of `posting`."""
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name for a row as a mapping
    return Posting.model_validate(
        {
            "user": values["user_name"],
            "server": values["server_name"],
            "start": instant(values["start_at"]),
            "end": instant(values["end_at"]),
            **{name: values[name] for name in _SAME},
        }
    )


@dataclass(frozen=True, slots=True)
class Spent:
    """What somebody had of a pool, and when; `seq` is the event that put it on the books."""

    seq: int
    user: str
    units: int
    start: datetime
    end: datetime


class Charges(Records):
    """The money part of one transaction."""

    def post(self, postings: Iterable[Posting], *, at: datetime, actor: Actor = GOVERNOR) -> None:
        """Put charges on the books, with one event `charge.posted` a lease.

        Postings of one lease follow each other without gap. Those that are on the books already
        are left out, so that a repeated call changes nothing.

        Raises
        ------
        LedgerError
            When a posting overlaps one on the books, leaves a gap after it, begins in a closed
            month, or holds a number that the database cannot.
        """
        lines = sorted(postings, key=lambda line: (line.lease_id, line.start, line.end))
        groups = [
            (lease_id, self._unposted(lease_id, list(group)))
            for lease_id, group in groupby(lines, key=lambda line: line.lease_id)
        ]
        for lease_id, unposted in groups:
            if unposted:
                self._post(lease_id, unposted, at, actor)

    def postings(
        self,
        *,
        start: datetime,
        end: datetime,
        user: str | None = None,
        teams: Collection[str] | None = None,
    ) -> tuple[Posting, ...]:
        """Charges that overlap [start, end), by start and lease; cut none of them.

        Those of no length are in where they lie inside.
        """
        query = select(posting).where(_overlaps(instant_us(start), instant_us(end)))
        if user is not None:
            query = query.where(posting.c.user_name == user)
        if teams is not None:
            query = query.where(posting.c.team.in_(teams))
        lines = map(posting_of, self._run(query))
        # Not by the database: what comes first in text depends on its locale.
        return tuple(sorted(lines, key=lambda line: (line.start, line.lease_id)))

    def spent(self, *, after: int, ended_after: datetime, limit: int) -> tuple[Spent, ...]:
        """Stretches with GPUs on the books past event `after`, in their order; the first `limit`.

        All lines of one event come together, so that the next call can go on behind it.
        """
        query = (
            select(
                posting.c.seq,
                posting.c.user_name,
                posting.c.units,
                posting.c.start_at,
                posting.c.end_at,
            )
            .where(posting.c.seq > after, posting.c.units > 0)
            .where(posting.c.end_at > instant_us(ended_after))
            .order_by(posting.c.seq)
        )
        rows = list(self._run(query.limit(limit)))
        if len(rows) == limit:
            last = rows[-1].seq
            rows = [row for row in rows if row.seq != last]
            rows += self._run(query.where(posting.c.seq == last))
        return tuple(
            Spent(row.seq, row.user_name, row.units, instant(row.start_at), instant(row.end_at))
            for row in rows
        )

    def sums(
        self,
        *,
        start: datetime,
        end: datetime,
        user: str | None = None,
        teams: Collection[str] | None = None,
    ) -> dict[str, int]:
        """Let the database add up the charges inside [start, end), by currency.

        What crosses the borders counts as far as it lies inside. It is made without the lines
        that `postings` gives, to be held against them.
        """
        first, last = instant_us(start), instant_us(end)
        mine = and_(posting.c.amount_micro.is_not(None), _overlaps(first, last))
        if user is not None:
            mine = and_(mine, posting.c.user_name == user)
        if teams is not None:
            mine = and_(mine, posting.c.team.in_(teams))
        whole = and_(posting.c.start_at >= first, posting.c.end_at <= last)
        query = select(posting.c.currency, func.sum(posting.c.amount_micro)).where(mine, whole)
        found = {
            str(code): int(micro) for code, micro in self._run(query.group_by(posting.c.currency))
        }
        for row in self._run(select(posting).where(mine, not_(whole))):
            line = posting_of(row)
            part = part_of(line, Stretch(start, end, line.currency))
            if part is not None:
                found[line.currency] = found.get(line.currency, 0) + part.amount_micro
        return found

    def flavor_sums(self, start: datetime, end: datetime) -> tuple[FlavorSum, ...]:
        """Add up charges inside [start, end) by team, flavor and currency.

        The database adds up what lies wholly inside; what crosses the borders is cut to them.
        """
        first, last = instant_us(start), instant_us(end)
        whole = and_(posting.c.start_at >= first, posting.c.end_at <= last)
        columns = (posting.c.team, posting.c.flavor, posting.c.currency)
        unpriced = case(
            (posting.c.amount_micro.is_(None), posting.c.seconds * posting.c.units), else_=0
        )
        query = select(
            *columns,
            func.coalesce(func.sum(posting.c.amount_micro), 0),
            func.sum(posting.c.seconds * posting.c.units),
            func.sum(unpriced),
        ).where(_overlaps(first, last), whole)
        found = [
            FlavorSum(team, flavor, code, int(micro), int(unit_s), int(unknown))
            for team, flavor, code, micro, unit_s, unknown in self._run(query.group_by(*columns))
        ]
        crossing = self._run(select(posting).where(_overlaps(first, last), not_(whole)))
        cut = (clip(posting_of(row), start, end) for row in crossing)
        return (*found, *(flavor_sum(line) for line in cut if line is not None))

    def charged(self, stretch: Stretch) -> Sums:
        """Sum up charges inside a stretch of time; read once, and counted on as they are posted.

        What crosses its borders counts as far as it lies inside.
        """
        return self._known.tally.of(stretch, lambda: self._lines_of(stretch))

    def team_sums(self, stretch: Stretch) -> Mapping[str, int]:
        """Sum up by team what `charged` gives, for one who asks once."""
        sums = Sums()
        for line in self._lines_of(stretch):
            sums.add(line)
        return sums.of_team

    def _lines_of(self, stretch: Stretch) -> Iterator[Line]:
        first, last = instant_us(stretch.start), instant_us(stretch.end)
        priced = and_(
            posting.c.currency == stretch.currency,
            posting.c.amount_micro.is_not(None),
            _overlaps(first, last),
        )
        whole = and_(posting.c.start_at >= first, posting.c.end_at <= last)
        holder = (posting.c.team, posting.c.project, posting.c.user_name)
        sums = select(*holder, func.sum(posting.c.amount_micro)).where(priced, whole)
        for team, project, user, amount in self._run(sums.group_by(*holder)):
            # PostgreSQL sums whole numbers as decimals.
            yield Line(team, project, user, int(amount))
        for row in self._run(select(posting).where(priced, not_(whole))):
            part = part_of(posting_of(row), stretch)
            if part is not None:
                yield part

    def charged_until(self, lease_id: LeaseId) -> datetime | None:
        """End of the newest posting of a lease; None before the first."""
        found = self._run(_UNTIL, {"of_lease": lease_id}).scalar()
        return None if found is None else instant(found)

    def begun(self, lease_ids: Collection[str]) -> dict[LeaseId, datetime]:
        """When the first charge of each of some leases began."""
        found: dict[LeaseId, datetime] = {}
        names = sorted(lease_ids)
        for first in range(0, len(names), _AT_ONCE):
            query = (
                select(posting.c.lease_id, func.min(posting.c.start_at).label("start"))
                .where(posting.c.lease_id.in_(names[first : first + _AT_ONCE]))
                .group_by(posting.c.lease_id)
            )
            found |= {LeaseId(row.lease_id): instant(row.start) for row in self._run(query)}
        return found

    def closed_until(self) -> datetime | None:
        """End of the newest closed month; None where none is closed."""
        if not self._known.months_read:
            query = select(event).where(event.c.kind == MONTH_CLOSED)
            row = self._run(query.order_by(event.c.seq.desc()).limit(1)).first()
            if row is not None:
                month: Any = event_of(row).body["month"]
                self._known.closed_until = datetime.fromisoformat(month["end"])
            self._known.months_read = True
        return self._known.closed_until

    def _unposted(self, lease_id: LeaseId, lines: list[Posting]) -> list[Posting]:
        until = self.charged_until(lease_id)
        # What goes on right behind the newest line, as a rule, cannot be on the books already.
        again = until is not None and any(
            line.start < until or line.start == line.end for line in lines
        )
        if again:
            query = select(posting).where(posting.c.lease_id == lease_id)
            there = {posting_of(row) for row in self._run(query)}
            lines = [line for line in lines if line not in there]
        for line in lines:
            numbers = (line.seconds, line.units, line.price_micro_per_hour, line.amount_micro)
            if any(abs(number or 0) > LARGEST for number in numbers):
                raise LedgerError(f"a charge of lease {lease_id} is larger than the ledger holds")
            if until is not None and line.start != until:
                raise LedgerError(
                    f"a charge of lease {lease_id} starts at {line.start} "
                    f"where the one before ends at {until}; charges follow without gap"
                )
            until = line.end
        return lines

    def _post(
        self,
        lease_id: LeaseId,
        lines: list[Posting],
        at: datetime,
        actor: Actor,
        more: dict[str, object] | None = None,
    ) -> None:
        closed = self.closed_until()
        if closed is not None and lines[0].start < closed:
            raise LedgerError(
                f"a charge of lease {lease_id} begins at {lines[0].start}, in a month that is "
                f"closed until {closed}; what is wrong there is corrected in the open month"
            )
        body: dict[str, object] = {
            "v": 1,
            "postings": [line.model_dump(mode="json") for line in lines],
            **(more or {}),
        }
        record = Event(kind=CHARGE_POSTED, at=at, lease_id=lease_id, actor=actor, body=body)
        seq = self.append(record)
        rows = [row_of_posting(line, seq, number) for number, line in enumerate(lines)]
        self._run(_POST, rows)
        self._known.tally.add(lines)


def _overlaps(first: int, last: int) -> ColumnElement[bool]:
    """What lies in [first, last) at least in part; of no length, what begins in it."""
    inside = and_(posting.c.start_at == posting.c.end_at, posting.c.start_at >= first)
    return and_(
        posting.c.end_at >= first,
        posting.c.start_at < last,
        or_(posting.c.end_at > first, inside),
    )
