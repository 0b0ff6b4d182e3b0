"""What the one writer of a ledger knows of it between transactions, so that nothing is read twice.

True because nobody else writes while its epoch stands. Emptied whenever a transaction fails.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from datetime import datetime

from ..lease import LeaseId, OpenLease, ServerKey
from ..lease.reserving import Reservation
from .tally import Tally


class Known:
    """Open leases, and the newest event. `complete` is False until all were read."""

    def __init__(self) -> None:
        self.complete = False
        self.newest: tuple[int, str] | None = None
        """Number and chain of the newest event."""
        self.reservations: tuple[Reservation, ...] | None = None
        """All that are not over, in their order; None until they were read."""
        self.closed_until: datetime | None = None
        """End of the newest closed month; None where none is closed."""
        self.months_read = False
        """Whether `closed_until` was read."""
        self.tally = Tally()
        """Sums of charges; they outlast a transaction that fails, since a refusal fails one."""
        self._leases: dict[LeaseId, OpenLease] = {}
        self._of_server: dict[tuple[str, str, str], LeaseId] = {}
        self._order: list[tuple[datetime, LeaseId]] = []
        self._ordered: tuple[OpenLease, ...] | None = None

    def clear(self) -> None:
        """Know nothing: what a transaction that failed has read or written did not happen."""
        self.complete, self.newest, self._ordered = False, None, None
        self.reservations = None
        self.closed_until, self.months_read = None, False
        self.tally.drop()
        self._leases.clear()
        self._order.clear()
        self._of_server.clear()

    def is_at(self, head: int) -> bool:
        """Whether the newest event that is known is the newest there is."""
        return self.newest is not None and self.newest[0] == head

    def fill(self, leases: Iterable[OpenLease]) -> None:
        """Take all open leases."""
        for lease in leases:
            self.put(lease)
        self.complete = True

    def put(self, lease: OpenLease) -> None:
        """Take an open lease as it stands now."""
        former = self._leases.get(lease.id)
        if former is not None and former.key is not lease.key:
            # Its owner may have been renamed.
            self._of_server.pop(_server(former.key), None)
        if former is None or former.requested_at != lease.requested_at:
            self._leave(former)
            insort(self._order, (lease.requested_at, lease.id))
        self._leases[lease.id] = lease
        if lease.replaces is None:
            self._of_server[_server(lease.key)] = lease.id
        self._ordered = None

    def drop(self, lease: OpenLease) -> None:
        """Forget a lease that has closed."""
        former = self._leases.pop(lease.id, None)
        if former is not None:
            self._leave(former)
            if self._of_server.get(_server(lease.key)) == lease.id:
                del self._of_server[_server(lease.key)]
            self._ordered = None

    def lease(self, lease_id: LeaseId) -> OpenLease | None:
        """An open lease."""
        return self._leases.get(lease_id)

    def lease_of(self, key: ServerKey) -> OpenLease | None:
        """The open lease of a server."""
        lease_id = self._of_server.get(_server(key))
        return None if lease_id is None else self._leases[lease_id]

    def seen(self, lease_ids: Iterable[LeaseId], at: datetime) -> None:
        """Note a heartbeat; never back."""
        for lease_id in lease_ids:
            lease = self._leases.get(lease_id)
            if lease is not None and (lease.last_seen_at is None or lease.last_seen_at < at):
                self.put(lease.model_copy(update={"last_seen_at": at}))

    @property
    def ordered(self) -> tuple[OpenLease, ...]:
        """All open leases, by time of request and then by id."""
        if self._ordered is None:
            self._ordered = tuple(self._leases[lease_id] for _at, lease_id in self._order)
        return self._ordered

    def _leave(self, former: OpenLease | None) -> None:
        if former is not None:
            del self._order[bisect_left(self._order, (former.requested_at, former.id))]


def _server(key: ServerKey) -> tuple[str, str, str]:
    return key.hub, key.user, key.server
