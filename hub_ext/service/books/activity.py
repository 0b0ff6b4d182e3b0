"""What servers say of themselves: the newest of each, in memory alone.

It is user-side evidence and decides nothing; who judges asks for it here.
"""

from datetime import datetime, timedelta

from ...errors import RefusedError
from ...i18n import _
from ...lease import Activity, OpenLease, ServerKey

STALE = timedelta(minutes=3)
"""What is older says nothing of now: a server that runs tells of itself every minute."""

LEAST_GAP = timedelta(seconds=2)
"""A server tells of itself at most every ten seconds; what comes much faster is not heard."""


class Activities:
    """The newest word of each server, oldest first."""

    def __init__(self) -> None:
        self._heard: dict[ServerKey, Activity] = {}

    def take(self, key: ServerKey, told: Activity, *, now: datetime) -> None:
        """Keep what a server says, on our own clock; forget what is stale.

        Raises
        ------
        RefusedError
            429 when it comes too fast; what was heard before still holds.
        """
        former = self._heard.get(key)
        if former is not None and timedelta(0) <= now - former.at < LEAST_GAP:
            gap_s = int(LEAST_GAP.total_seconds())
            raise RefusedError(
                "too-often",
                _(
                    "This server told of itself less than {gap} seconds ago, which still holds. "
                    "Tell again after {gap} seconds."
                ).format(gap=gap_s),
                figures={"least_gap_s": gap_s},
                status=429,
                retry_after_s=gap_s,
            )
        self._heard.pop(key, None)
        self._heard[key] = told.heard(now)
        self._forget(now)

    def of(self, lease: OpenLease, now: datetime) -> Activity | None:
        """Give the newest word of a lease's server; None is unknown.

        What was said before the lease started is of an earlier server of the same name.
        """
        heard = self._heard.get(lease.key)
        if heard is None or now - heard.at > STALE:
            return None
        began = lease.started_at or lease.assigned_at
        return None if began is not None and heard.at < began else heard

    def __len__(self) -> int:
        return len(self._heard)

    def _forget(self, now: datetime) -> None:
        while self._heard:
            oldest = next(iter(self._heard))
            if now - self._heard[oldest].at <= STALE:
                return
            del self._heard[oldest]
