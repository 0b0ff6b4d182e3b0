"""How requests stand to each other now: their numbers, put on them before anything is decided."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from ...admission.priority import Weight, ranking, weight_of
from ...lease import LeaseId, LeaseState, OpenLease
from ...ledger.store import Ledger
from ...policy.model import Policy
from .recent import RecentUse


@dataclass
class Ranks:
    """Numbers of the requests that wait. They follow from the lease, the time and recent use."""

    recent: RecentUse = field(default_factory=RecentUse)
    _numbered: dict[LeaseId, tuple[OpenLease, OpenLease]] = field(default_factory=dict)
    """By request what it was, and the same with its number: most keep theirs for minutes."""

    def look(self, ledger: Ledger, policy: Policy, now: datetime) -> None:
        """Bring recent use up to date, in a transaction of its own."""
        with ledger.transaction() as tx:
            self.recent.look(tx, policy.priority.recent_half_life, now)

    def numbered(
        self, policy: Policy, leases: Iterable[OpenLease], now: datetime
    ) -> tuple[OpenLease, ...]:
        """Give each request that waits its number of now; what runs keeps its own."""
        rules, known = ranking(policy), self._numbered
        found: list[OpenLease] = []
        self._numbered = {}
        for lease in leases:
            if lease.state is not LeaseState.queued:
                found.append(lease)
                continue
            number = weight_of(policy, rules, lease, self.recent.figures, now).number
            before = known.get(lease.id)
            if before is None or before[0] is not lease or before[1].priority != number:
                before = (lease, lease.model_copy(update={"priority": number}))
            self._numbered[lease.id] = before
            found.append(before[1])
        return tuple(found)

    def weight(self, policy: Policy, lease: OpenLease, now: datetime) -> Weight:
        """Weigh one request, with its parts."""
        return weight_of(policy, ranking(policy), lease, self.recent.figures, now)
