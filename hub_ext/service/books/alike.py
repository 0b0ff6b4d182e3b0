"""What leases of each profile have cost that ended lately: what an open one is held against."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...anomaly import Ended
from ...lease import LeaseState, OpenLease

SPAN = timedelta(days=30)
"""What ended before says nothing of what is usual now."""

MOST_KEPT = 200
"""Of each profile; more would not move the middle."""


@dataclass
class Alike:
    """Costs of ended leases by profile, in the order in which they were read."""

    _costs: dict[str, deque[tuple[datetime, int]]] = field(default_factory=dict)

    def wants(self, before: datetime, now: datetime) -> bool:
        """Whether what ended before an instant would be kept."""
        return before >= now - SPAN

    def take(self, older: Iterable[tuple[OpenLease, int | None]], *, newest: bool) -> None:
        """Keep what leases cost that really ran; at the old end, or as the newest."""
        for lease, cost in older if newest else reversed(list(older)):
            ran = lease.state is LeaseState.closed and lease.started_at is not None
            if not ran or cost is None or lease.closed_at is None:
                continue
            kept = self._costs.setdefault(lease.profile, deque())
            if newest:
                kept.append((lease.closed_at, cost))
                if len(kept) > MOST_KEPT:
                    kept.popleft()
            elif len(kept) < MOST_KEPT:
                kept.appendleft((lease.closed_at, cost))

    def of(self, profile: str, now: datetime) -> Ended | None:
        """What leases of a profile cost that ended within the span; None where none did."""
        kept = self._costs.get(profile)
        return None if kept is None else Ended(tuple(cost for at, cost in kept if at >= now - SPAN))
