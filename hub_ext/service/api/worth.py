"""Spend explained: changes, GPU models, the dearest leases, value, owners.

A person asks for their own, a lead for the team's, an admin for all of it.
"""

from abc import abstractmethod
from datetime import datetime

from ...i18n import _
from ...lease import Value
from ...lease.worth import DearSheet
from ..core.governor import Governor
from ..money.worth import BY
from .queries import whole_number
from .spend import Asked, SpendDoor

MOST_DEAR = 100
"""Leases that are listed at most."""


class _Sheet(SpendDoor):
    """One answer in one piece."""

    async def get(self) -> None:
        """Reckon it."""
        asked = await self.asked()
        sheet = await self.core.run(lambda core, now: self.sheet(core, asked, now))
        same = {name: one for name, one in sheet.model_dump(mode="json").items() if name != "as_of"}
        self.tag(str(same))
        self.answer(sheet)

    @abstractmethod
    def sheet(self, core: Governor, asked: Asked, now: datetime) -> Value:
        """Ask the core."""


class ChangesHandler(_Sheet):
    """`GET spend/changes`: against the window before, by price, hours and mix."""

    act = _("see changes of spend")

    async def get(self) -> None:
        """Reckon it."""
        await self.check_people(self.aggregate(",".join(BY)))
        await super().get()

    def sheet(self, core: Governor, asked: Asked, now: datetime) -> Value:
        """Explain the changes."""
        return core.changes(*asked, self.aggregate(",".join(BY)), now=now)


class ModelsHandler(_Sheet):
    """`GET spend/models`: GPU models compared."""

    act = _("compare GPU models")

    def sheet(self, core: Governor, asked: Asked, now: datetime) -> Value:
        """Compare them."""
        return core.models(*asked, now=now)


class DearestHandler(_Sheet):
    """`GET spend/dearest`: the dearest leases, with what makes them so."""

    act = _("see the dearest leases")

    def sheet(self, core: Governor, asked: Asked, now: datetime) -> DearSheet:
        """List them."""
        limit = whole_number(self, "limit")
        most = min(MOST_DEAR, 10 if limit is None else limit)
        return core.dearest(*asked, most, members=not self.people_hidden(core), now=now)


class ValueOfSpendHandler(_Sheet):
    """`GET value`: spend by value class, task type and outcome."""

    act = _("see what came of spend")

    def sheet(self, core: Governor, asked: Asked, now: datetime) -> Value:
        """Hold it against what came of it."""
        return core.value(*asked, now=now)


class OwnersHandler(_Sheet):
    """`GET spend/owners`: pool x team x month."""

    act = _("see who answers for spend")

    def sheet(self, core: Governor, asked: Asked, now: datetime) -> Value:
        """Lay it out."""
        return core.owner_map(*asked, now=now)
