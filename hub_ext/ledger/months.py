"""Months of one transaction: closed by an event with a hash over their charges, never reopened."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import func, select

from ..lease import Actor, Event, LeaseId, Posting
from ..lease.months import ClosedMonth, Correction
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

    def close_month(self, month: ClosedMonth, *, actor: Actor) -> int:
        """Close a month; from now on no charge may begin before its end.

        Returns
        -------
        Number of the event.
        """
        body: dict[str, object] = {"v": BODY_VERSION, "month": month.model_dump(mode="json")}
        seq = self.append(Event(kind=MONTH_CLOSED, at=month.at, actor=actor, body=body))
        self._known.closed_until = month.end
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
