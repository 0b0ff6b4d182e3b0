"""The core's part that concerns how long people waited.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Collection
from datetime import datetime

from ...lease.waits import WaitSheet
from ...policy.bounds import owner_bound
from ...reports.waits import KINDS, Kind, wait_of, wait_rows, waits_still
from ..books.desk import Desk
from ..books.waited import SPAN
from ..queueing.learning import read_on


class WaitCore:
    """Everything of the governor that recorded waits need."""

    _desk: Desk

    def look_at_waits(self, *, now: datetime) -> None:
        """Read on in what was recorded; see `learning.read_on`."""
        with self._desk.turn(now) as turn:
            read_on(turn)

    def waits(
        self,
        teams: Collection[str] | None = None,
        *,
        by: tuple[Kind, ...] = KINDS,
        now: datetime,
    ) -> WaitSheet:
        """Sum up the waits of some teams, or of all: those that ended, and owners past the bound.

        Raises
        ------
        RefusedError
            While no policy is in force.
        """
        desk, policy = self._desk, self._desk.book.policy
        with desk.turn(now) as turn:
            read_on(turn)
            open_ = [wait_of(lease, now) for lease in turn.tx.leases() if waits_still(lease)]
        shown = (
            one
            for one in (*desk.waits.known, *open_)
            if one is not None and (teams is None or one.team in teams)
        )
        bounds = {name: owner_bound(policy, name) for name in policy.pools}
        since = now - SPAN
        return WaitSheet(start=since, at=now, rows=wait_rows(shown, bounds, since, by=by))
