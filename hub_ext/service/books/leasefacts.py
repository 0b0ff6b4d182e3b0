"""What reports tell of leases beside their charges: read once a lease, some at a time, and kept.

A closed lease changes no more, and what is said of it later is read again. It decides nothing.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ...lease import LeaseId, OpenLease
from ...lease.value import Said
from ...ledger.said import said
from ...ledger.store import Tx
from ...policy.model import Policy
from ...reports.spend import UNKNOWN, LeaseFacts
from .restcharges import lease_of

AT_ONCE = 200
"""Leases that are read in one turn: decisions wait meanwhile."""

MOST_KEPT = 50_000
"""Leases of which facts are kept; those that were read first are forgotten first."""


@dataclass
class FactsBook:
    """Facts of closed leases, as far as they were read."""

    _closed: dict[LeaseId, LeaseFacts] = field(default_factory=dict)
    _said: dict[LeaseId, Said] = field(default_factory=dict)
    """What was said of open leases."""

    def forget(self, lease_id: LeaseId) -> None:
        """Read a lease again when it is next asked for: more was said of it."""
        self._closed.pop(lease_id, None)
        self._said.pop(lease_id, None)

    def lacking(self, tx: Tx, line_ids: Iterable[LeaseId]) -> tuple[LeaseId, ...]:
        """List the leases that lines are of and that are still to be read."""
        open_ = {lease.id for lease in tx.leases()}
        wanted = dict.fromkeys(lease_of(one) for one in line_ids)
        return tuple(one for one in wanted if one not in self._closed and one not in open_)

    def read(self, tx: Tx, lease_ids: Collection[LeaseId], policy: Policy | None) -> None:
        """Read some closed leases."""
        for lease_id in lease_ids:
            lease = tx.lease(lease_id)
            # What is kept unused for a reservation has lines of its own, and no lease.
            if lease is None:
                self._closed[lease_id] = UNKNOWN
            elif not lease.open:
                self._closed[lease_id] = facts_of(lease, said(tx, lease_id)[0], policy)
        while len(self._closed) > MOST_KEPT:
            del self._closed[next(iter(self._closed))]

    def of(
        self, tx: Tx, line_ids: Iterable[LeaseId], policy: Policy | None
    ) -> dict[LeaseId, LeaseFacts]:
        """Give what is known, by the id on the line; open leases as they are now.

        What was not read before is read now.
        """
        leases = {line: lease_of(line) for line in line_ids}
        self.read(tx, self.lacking(tx, leases), policy)
        wanted = set(leases.values())
        open_ = {
            lease.id: facts_of(lease, self._told(tx, lease.id), policy)
            for lease in tx.leases()
            if lease.id in wanted
        }
        return {
            line: open_[lease] if lease in open_ else self._closed.get(lease, UNKNOWN)
            for line, lease in leases.items()
        }

    def _told(self, tx: Tx, lease_id: LeaseId) -> Said:
        if lease_id not in self._said:
            while len(self._said) >= MOST_KEPT:
                del self._said[next(iter(self._said))]
            self._said[lease_id] = said(tx, lease_id)[0]
        return self._said[lease_id]


def facts_of(lease: OpenLease, told: Said, policy: Policy | None) -> LeaseFacts:
    """Take from a lease what reports tell of it; a GPU's model as it was found, else declared."""
    model = next((device.model for device in lease.devices), None)
    if model is None and policy is not None and lease.pool in policy.pools:
        model = policy.pools[lease.pool].model
    return LeaseFacts(
        model=model,
        task_type=lease.task_type,
        value_class=lease.value_class,
        has_purpose=bool(told.purpose),
        outcome=told.outcome,
    )
