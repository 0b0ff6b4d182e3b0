"""The part of the core that says what was spent, and on what.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Collection
from datetime import datetime

from ..lease import LeaseId
from ..lease.spend import SpendDimension, SpendSheet
from . import spending
from .desk import Desk
from .spending import Stretch
from .usage import Scope


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
