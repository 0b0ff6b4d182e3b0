"""The part of the core that closes months and corrects charges.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime

from ...lease import Actor
from ...lease.months import ClosedMonth, Correction, CorrectionWish, MonthSheet
from ..books.desk import Desk
from ..money import correcting, monthclosing


class MonthCore:
    """Months and corrections of the books."""

    _desk: Desk

    def months(self, *, now: datetime) -> MonthSheet:
        """List closed months and review the next; see `monthclosing.sheet`."""
        return monthclosing.sheet(self._desk, now=now)

    def close_month(self, name: str, *, reason: str, actor: Actor, now: datetime) -> ClosedMonth:
        """Close the month that is next; see `monthclosing.close`."""
        return monthclosing.close(self._desk, name, reason=reason, actor=actor, now=now)

    def correct_charge(
        self, wanted: CorrectionWish, *, reason: str, actor: Actor, now: datetime
    ) -> Correction:
        """Correct one charge; see `correcting.correct`."""
        return correcting.correct(self._desk, wanted, reason=reason, actor=actor, now=now)
