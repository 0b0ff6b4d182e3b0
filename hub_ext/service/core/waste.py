"""The core's part that tells what was held and did no work.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Sequence
from datetime import datetime

from ...lease.waste import WasteDimension, WasteSheet
from ..books.desk import Desk
from ..money import wasting
from ..money.usage import Scope


class WasteCore:
    """Waste, priced."""

    _desk: Desk

    def waste(
        self,
        scope: Scope,
        start: datetime,
        end: datetime,
        *,
        by: Sequence[WasteDimension] = ("team",),
        now: datetime,
    ) -> WasteSheet:
        """Sort what was held in a window into kinds of waste; see `wasting.waste`."""
        return wasting.waste(self._desk, scope, start, end, by=by, now=now)
