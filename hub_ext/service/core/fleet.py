"""The core's part that tells where all that is installed went.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime

from ...lease.fleet import FleetSheet
from ..books.desk import Desk
from ..money import installed


class FleetCore:
    """Installed, held, out of service, unallocated."""

    _desk: Desk

    def fleet(self, start: datetime, end: datetime, *, now: datetime) -> FleetSheet:
        """Split what was installed in a window; see `installed.sheet`.

        Raises
        ------
        RefusedError
            While no policy is in force.
        """
        return installed.sheet(self._desk, start, end, now=now)
