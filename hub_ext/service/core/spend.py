"""The part of the core that says what was spent, on what, and what came of it.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Collection
from datetime import datetime

from ...lease import Actor, LeaseId, OpenLease
from ...lease.monthspend import SpendFacts
from ...lease.spend import SpendDimension, SpendSheet
from ...lease.value import LeaseValue, ValueWish
from ..books.desk import Desk
from ..money import monthspend, spending, valuing
from ..money.spending import Stretch
from ..money.usage import Scope


class SpendCore:
    """Spend by team, project, person, model and the like."""

    _desk: Desk

    def lacking_facts(
        self, scope: Scope, stretch: Stretch, *, now: datetime
    ) -> tuple[LeaseId, ...]:
        """List leases of which nothing was read yet; see `spending.lacking`."""
        return spending.lacking(self._desk, scope, stretch, now=now)

    def read_facts(self, lease_ids: Collection[LeaseId], *, now: datetime) -> None:
        """Read some of them."""
        spending.read_facts(self._desk, lease_ids, now=now)

    def spend(
        self, scope: Scope, stretch: Stretch, by: tuple[SpendDimension, ...], *, now: datetime
    ) -> SpendSheet:
        """Sum up a window; see `spending.spend`."""
        return spending.spend(self._desk, scope, stretch, by, now=now)

    def month_spend(self, *, now: datetime) -> SpendFacts:
        """Gather spend of the present month, quota and budgets; see `monthspend.facts`."""
        return monthspend.facts(self._desk, now=now)

    def value_of(self, lease_id: LeaseId, *, in_team: bool, now: datetime) -> LeaseValue:
        """Tell what was said of a lease; see `valuing.value_of`."""
        with self._desk.turn(now) as turn:
            return valuing.value_of(turn.tx, turn.found(lease_id), in_team=in_team)

    def say(self, lease_id: LeaseId, wish: ValueWish, *, actor: Actor, now: datetime) -> OpenLease:
        """Record what its owner says of a lease; see `valuing.say`."""
        return valuing.say(self._desk, lease_id, wish, actor=actor, now=now)
