"""The part of the core that hears what a comparison with the hub found.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime

from ...lease import LeaseId, ProcessRef
from ..books.desk import Desk
from ..leasing import reporting


class ComparingCore:
    """What no report has told, because it was lost with the hub that would have sent it."""

    _desk: Desk

    def came_up(
        self,
        lease_id: LeaseId,
        process: ProcessRef | None,
        *,
        began: datetime | None = None,
        at: datetime,
        now: datetime,
    ) -> bool:
        """Record that a starting server runs; see `reporting.came_up`."""
        return reporting.came_up(self._desk, lease_id, process, began=began, at=at, now=now)
