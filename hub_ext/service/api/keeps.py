"""What leads of a team let its people keep servers for, beyond the policy."""

from datetime import datetime
from http import HTTPStatus

from ...i18n import _
from ...lease.keeping import KeepGrantSheet
from ..core.governor import Governor
from ..http.web import BaseHandler
from ..reclaim.keepgrants import KeepWish
from .hands import ByHand
from .sharing import may_lead


class GrantKeep(ByHand):
    """`POST teams/{team}/keeps`: for whom, how many seconds more, and until when."""

    wanted: KeepWish


class KeepsHandler(BaseHandler):
    """`GET` and `POST teams/{team}/keeps`: grants that hold, and one more."""

    act = _("let people of a team keep servers for longer; its leads may")

    async def get(self, team: str) -> None:
        """Show those that hold."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> KeepGrantSheet:
            may_lead(caller, core, team)
            return core.keep_grants(team, now=now)

        self.answer(await self.core.run(act))

    async def post(self, team: str) -> None:
        """Record one; it holds at once."""
        caller, said = self.caller, self.body(GrantKeep)

        def act(core: Governor, now: datetime) -> KeepGrantSheet:
            may_lead(caller, core, team)
            return core.grant_keep(
                team, said.wanted, reason=said.reason, actor=caller.acting(said.by), now=now
            )

        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)
