"""Months of one transaction: closed by an event with a hash over their charges, never reopened."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, not_, select

from ..budget import Period
from ..lease import Actor, Event, LeaseId, Posting
from ..lease.months import ClosedMonth, Correction
from ..metering import clip
from ..units import instant_us
from .charges import MONTH_CLOSED, Charges, posting_of
from .fold import BODY_VERSION, carried
from .records import event_of, packed
from .schema import event, instant, posting


def month_in(record: Event) -> ClosedMonth | None:
    """Read the month that an event carries, or None where its kind carries none.

    Raises
    ------
    LedgerError
        When the body is not what its kind promises.
    """
    return carried(record, "month", ClosedMonth) if record.kind == MONTH_CLOSED else None


def digest_of(lines: Iterable[Posting]) -> str:
    """Hash charges, whole, by start and lease: one that was changed, lost or added shows.

    Fields without a value are left out, so that one which a later version adds changes no hash.
    """
    hashed = hashlib.sha256()
    for line in sorted(lines, key=lambda one: (one.start, one.lease_id)):
        hashed.update(packed(line.model_dump(mode="json", exclude_none=True)).encode() + b"\n")
    return hashed.hexdigest()


class MonthSum(NamedTuple):
    """What one team was charged in one month in one currency, and for how long without a price."""

    team: str
    currency: str
    micro: int
    unpriced_s: int


_LAST = case((posting.c.end_at > posting.c.start_at, posting.c.end_at - 1), else_=posting.c.end_at)
"""The last microsecond of a charge."""


def _bucket(column: ColumnElement[int], months: Sequence[Period]) -> ColumnElement[int]:
    """Say in which month an instant lies; -1 where in none."""
    first = instant_us(months[0].start)
    whens = [(column < instant_us(month.end), at) for at, month in enumerate(months)]
    return case((column < first, -1), *whens, else_=-1)


_Sums = dict[tuple[str, str], tuple[int, int]]
"""(team, currency) -> micro-units, seconds without a price."""


def _add(sums: _Sums, key: tuple[str, str], micro: int, unpriced_s: int) -> None:
    before = sums.get(key, (0, 0))
    sums[key] = (before[0] + micro, before[1] + unpriced_s)


class Months(Charges):
    """The part of one transaction that concerns months."""

    def months(self) -> tuple[ClosedMonth, ...]:
        """All that are closed, in order."""
        rows = self._run(select(event).where(event.c.kind == MONTH_CLOSED).order_by(event.c.seq))
        found = (month_in(event_of(row)) for row in rows)
        return tuple(one for one in found if one is not None)

    def first_charge(self) -> datetime | None:
        """When the earliest charge began; None before the first."""
        found = self._run(select(func.min(posting.c.start_at))).scalar()
        return None if found is None else instant(found)

    def by_month(self, months: Sequence[Period]) -> tuple[tuple[MonthSum, ...], ...]:
        """Sum up what lies in each month, by team and currency, in one look at the books.

        Parameters
        ----------
        months
            Stretches that follow each other without gap.
        """
        if not months:
            return ()
        first, last = instant_us(months[0].start), instant_us(months[-1].end)
        starts, ends = (_bucket(column, months) for column in (posting.c.start_at, _LAST))
        inside = [posting.c.end_at >= first, posting.c.start_at < last]
        whole = and_(starts == ends, starts >= 0)
        columns = (starts.label("month"), posting.c.team, posting.c.currency)
        sums = select(
            *columns,
            func.sum(posting.c.amount_micro).label("micro"),
            func.sum(case((posting.c.amount_micro.is_(None), posting.c.seconds), else_=0)).label(
                "unpriced"
            ),
        ).where(*inside, whole)
        found: list[_Sums] = [{} for _month in months]
        for row in self._run(sums.group_by(*columns)):
            # PostgreSQL sums whole numbers as decimals.
            key = (row.team, row.currency)
            _add(found[row.month], key, int(row.micro or 0), int(row.unpriced))
        for line in map(posting_of, self._run(select(posting).where(*inside, not_(whole)))):
            for at, month in enumerate(months):
                part = clip(line, month.start, month.end)
                if part is not None:
                    unpriced = part.seconds if part.amount_micro is None else 0
                    _add(found[at], (part.team, part.currency), part.amount_micro or 0, unpriced)
        return tuple(
            tuple(MonthSum(*key, *value) for key, value in sorted(one.items())) for one in found
        )

    def corrections(self, limit: int) -> tuple[Posting, ...]:
        """The newest reversals and restatements."""
        query = select(posting).where(posting.c.corrects.is_not(None))
        return tuple(map(posting_of, self._run(query.order_by(posting.c.seq.desc()).limit(limit))))

    def close_month(self, month: ClosedMonth, *, actor: Actor) -> int:
        """Close a month; from now on no charge may begin before its end.

        Returns
        -------
        Number of the event.
        """
        body: dict[str, object] = {"v": BODY_VERSION, "month": month.model_dump(mode="json")}
        seq = self.append(Event(kind=MONTH_CLOSED, at=month.at, actor=actor, body=body))
        self._known.closed_until, self._known.months_read = month.end, True
        return seq

    def charge_at(self, lease_id: LeaseId, start: datetime) -> Posting | None:
        """Give the charge of a lease that begins at an instant; None where there is none."""
        query = select(posting).where(
            posting.c.lease_id == lease_id, posting.c.start_at == instant_us(start)
        )
        row = self._run(query).first()
        return None if row is None else posting_of(row)

    def corrections_of(self, reference: str) -> tuple[Posting, ...]:
        """All charges that reverse or restate one, in the order of the record."""
        query = select(posting).where(posting.c.corrects == reference)
        rows = self._run(query.order_by(posting.c.seq, posting.c.line))
        return tuple(map(posting_of, rows))

    def correct(self, lines: list[Posting], correction: Correction, *, actor: Actor) -> None:
        """Put reversals and restatements on the books, in one event of the corrected lease.

        Raises
        ------
        LedgerError
            When they begin in a closed month.
        """
        more: dict[str, object] = {"correction": correction.model_dump(mode="json")}
        self._post(correction.lease_id, lines, correction.at, actor, more)
