"""The part of the core that gives pages and reports of money what they are made from.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Sequence
from datetime import datetime

from ...lease.monthreport import MonthReport
from ...reports.repricing import Wish
from ..basis.windows import Window
from ..books.desk import Desk
from ..money import monthreports, sitemoney
from ..money.grounds import Ground, ground
from ..money.usage import Scope


class MoneyCore:
    """What pages of money are made from."""

    _desk: Desk

    def ground(self, scope: Scope, window: Window, *, now: datetime) -> Ground:
        """Read charges, facts and use of a window; see `ground`."""
        return ground(self._desk, scope, window, now=now)

    def site_money(
        self, kinds: Sequence[str], wish: Wish | None, *, review: bool, now: datetime
    ) -> sitemoney.SiteMoney:
        """Read what the site's page of money shows; see `sitemoney.read`."""
        return sitemoney.read(self._desk, kinds, wish, review=review, now=now)

    def month_report(
        self, team: str, month: str, *, people: bool = True, now: datetime
    ) -> MonthReport:
        """Report on one month of one team; see `monthreports.make`."""
        return monthreports.make(self._desk, team, month, people=people, now=now)
