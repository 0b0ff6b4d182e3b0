"""Reservations of one transaction: recorded by their events, projected in the same transaction.

The table holds those that are not over; what became of the others is in the events.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from ..errors import LedgerError
from ..lease import Actor, Event
from ..lease.reserving import Reservation, ReservationId
from .fold import BODY_VERSION, carried
from .records import Records, event_of
from .schema import event, reservation

MADE = "reservation.made"
CHANGED = "reservation.changed"
CANCELLED = "reservation.cancelled"
OPENED = "reservation.opened"
NO_SHOW = "reservation.no_show"
RELEASED = "reservation.released"

RESERVATION_KINDS = frozenset({MADE, CHANGED, CANCELLED, OPENED, NO_SHOW, RELEASED})
"""Kinds whose body is a whole reservation: `{"v": 1, "reservation": {…}}`."""


def reservation_in(record: Event) -> Reservation | None:
    """Read the reservation that an event carries, or None where its kind carries none.

    Raises
    ------
    LedgerError
        When the body is not what its kind promises.
    """
    if record.kind not in RESERVATION_KINDS:
        return None
    return carried(record, "reservation", Reservation)


def take_reservation(known: dict[ReservationId, Reservation], one: Reservation, kind: str) -> None:
    """Put a reservation that an event of this kind carries among the known ones, or take it out.

    Raises
    ------
    LedgerError
        When it is made twice, or changed without having been made; nothing is changed then.
    """
    if (kind == MADE) == (one.id in known):
        raise LedgerError(f"{kind} of reservation {one.id} is out of order")
    if kind == CANCELLED and not one.over:
        raise LedgerError(f"reservation {one.id} is cancelled and not over")
    if one.over:
        known.pop(one.id, None)
    else:
        known[one.id] = one


def row_of_reservation(one: Reservation, seq: int) -> dict[str, Any]:
    """Make the projected row of a reservation."""
    return {
        "reservation_id": one.id,
        "hub": one.key.hub,
        "user_name": one.key.user,
        "team": one.team,
        "pool": one.pool,
        "seq": seq,
        "body": one.model_dump_json(),
    }


class Reservations(Records):
    """The part of one transaction that concerns reservations."""

    def reservations(self) -> tuple[Reservation, ...]:
        """All that are not over, by when they were made and then by id."""
        if self._known.reservations is None:
            rows = self._run(select(reservation.c.body))
            found = (Reservation.model_validate_json(row.body) for row in rows)
            ordered = sorted(found, key=lambda one: (one.made_at, one.id))
            self._known.reservations = tuple(ordered)
        return self._known.reservations

    def reservation(self, wanted: ReservationId) -> Reservation | None:
        """One that is not over; None where there is none."""
        return next((one for one in self.reservations() if one.id == wanted), None)

    def reservations_ended(self, limit: int) -> tuple[Reservation, ...]:
        """The newest that are over, newest first, out of the `limit` newest events of them."""
        query = select(event).where(event.c.kind.in_(RESERVATION_KINDS))
        rows = self._run(query.order_by(event.c.seq.desc()).limit(limit))
        found = (reservation_in(event_of(row)) for row in rows)
        return tuple(one for one in found if one is not None and one.over)

    def record_reservation(self, one: Reservation, kind: str, *, actor: Actor, at: datetime) -> int:
        """Add the event that makes a reservation what `one` says, and keep the projection true.

        Returns
        -------
        Number of the event.

        Raises
        ------
        LedgerError
            When it is made twice, or changed without having been made.
        """
        former = self.reservation(one.id)
        known = {} if former is None else {former.id: former}
        take_reservation(known, one, kind)
        body: dict[str, object] = {"v": BODY_VERSION, "reservation": one.model_dump(mode="json")}
        lease_id = one.current.lease_id if one.current is not None else None
        record = Event(kind=kind, at=at, lease_id=lease_id, actor=actor, body=body)
        seq = self.append(record, hub=one.key.hub)
        self._known.reservations = None
        mine = reservation.c.reservation_id == one.id
        if one.over:
            self._run(delete(reservation).where(mine))
        elif former is None:
            self._run(insert(reservation), row_of_reservation(one, seq))
        else:
            self._run(update(reservation).where(mine).values(row_of_reservation(one, seq)))
        return seq
