"""The part of the core that explains spend, and holds it against what came of it.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime

from ...lease.spend import SpendDimension
from ...lease.worth import ChangeSheet, DearSheet, ModelSheet, OwnerMap, ValueSheet
from ..books.desk import Desk
from ..money import worth
from ..money.spending import Stretch
from ..money.usage import Scope


class WorthCore:
    """Changes, GPU models, the dearest leases, value and owners."""

    _desk: Desk

    def changes(
        self, scope: Scope, stretch: Stretch, by: tuple[SpendDimension, ...], *, now: datetime
    ) -> ChangeSheet:
        """Explain what a window cost more or less; see `worth.changed`."""
        return worth.changed(self._desk, scope, stretch, by, now=now)

    def models(self, scope: Scope, stretch: Stretch, *, now: datetime) -> ModelSheet:
        """Compare GPU models; see `worth.compared`."""
        return worth.compared(self._desk, scope, stretch, now=now)

    def dearest(
        self, scope: Scope, stretch: Stretch, most: int, *, members: bool = True, now: datetime
    ) -> DearSheet:
        """List the dearest leases; see `worth.dear`."""
        return worth.dear(self._desk, scope, stretch, most, members=members, now=now)

    def value(self, scope: Scope, stretch: Stretch, *, now: datetime) -> ValueSheet:
        """Hold spend against what came of it; see `worth.valued`."""
        return worth.valued(self._desk, scope, stretch, now=now)

    def owner_map(self, scope: Scope, stretch: Stretch, *, now: datetime) -> OwnerMap:
        """Lay out pool x team x month; see `worth.owned`."""
        return worth.owned(self._desk, scope, stretch, now=now)
