"""The core's part that concerns reservations: making, calling off, and what their time brings.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import date, datetime

from ...lease.reserving import Reservation, ReservationWish, Reserved
from ..basis.access import Caller
from ..books.desk import Desk
from ..reserving import making as reserving
from ..reserving import passing as reserved


class ReservingCore:
    """Everything of the governor that concerns reservations."""

    _desk: Desk

    def reserve(
        self,
        wish: ReservationWish,
        caller: Caller,
        *,
        groups: tuple[str, ...] | None = None,
        now: datetime,
    ) -> Reservation:
        """Make a reservation; see `reserving.make`."""
        return reserving.make(self._desk, wish, caller, groups=groups, now=now)

    def skip_reservation(
        self, wanted: str, day: date, caller: Caller, *, by: str = "", now: datetime
    ) -> Reservation:
        """Leave one time of a weekly one out; see `reserving.skip`."""
        return reserving.skip(self._desk, wanted, day, caller, by=by, now=now)

    def cancel_reservation(
        self, wanted: str, caller: Caller, *, by: str = "", now: datetime
    ) -> Reservation:
        """Call one off; see `reserving.cancel`."""
        return reserving.cancel(self._desk, wanted, caller, by=by, now=now)

    def reserved(
        self, first: datetime, last: datetime
    ) -> tuple[tuple[Reservation, ...], tuple[Reserved, ...]]:
        """Read all that are not over, and their times that touch [first, last)."""
        return reserving.listed(self._desk, first, last)

    def tend_reservations(self, *, now: datetime) -> int:
        """Do what is due for each; see `reserved.tend`."""
        return reserved.tend(self._desk, now=now)
