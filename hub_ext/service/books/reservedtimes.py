"""Times of reservations as decisions meet them now: to come, kept for, or with a lease already.

It reads alone; what follows from a time that has come is in `reserved`.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from ...lease import LeaseId, OpenLease
from ...lease.reserving import Reservation, Reserved
from ...policy.model import Policy
from ...reservation import times

_WIDE = timedelta(hours=1)
"""So much more is worked out than is asked for: clocks go on, and every decision asks."""


class Times:
    """Works times out once for as long as the reservations stay the same."""

    def __init__(self) -> None:
        self._of: tuple[Reservation, ...] = ()
        self._window: tuple[datetime, datetime] | None = None
        self._every: tuple[Reserved, ...] = ()

    def between(
        self,
        reservations: tuple[Reservation, ...],
        leases: Iterable[OpenLease],
        first: datetime,
        last: datetime,
    ) -> tuple[Reserved, ...]:
        """List all that end after `first` and start before `last`.

        A lease that has closed counts no more: its reservation has neither lease nor devices then.
        """
        if not reservations:
            return ()
        if self._of is not reservations or not self._covers(first, last):
            self._of = reservations
            self._window = wide = (first - _WIDE, last + _WIDE)
            self._every = tuple(time for one in reservations for time in times(one, *wide))
        found = tuple(one for one in self._every if one.end > first and one.start < last)
        if not any(one.lease_id for one in found):
            return found
        open_ones = {lease.id: lease for lease in leases}
        return tuple(_with_lease(one, open_ones) for one in found)

    def _covers(self, first: datetime, last: datetime) -> bool:
        window = self._window
        return window is not None and window[0] <= first and last <= window[1]


def _with_lease(time: Reserved, leases: dict[LeaseId, OpenLease]) -> Reserved:
    if time.lease_id is None:
        return time
    lease = leases.get(time.lease_id)
    if lease is None:
        return time.model_copy(update={"lease_id": None})
    return time.model_copy(update={"devices": lease.takes})


def horizon(policy: Policy) -> timedelta:
    """How far ahead a lease that starts now may live at most."""
    return max(profile.lifetime.longest for profile in policy.profiles.values())
