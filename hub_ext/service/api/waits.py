"""How long people waited, for leads of their teams and for admins."""

from datetime import datetime

from ...i18n import _
from ...lease.waits import WaitSheet
from ..basis.refusals import not_allowed
from ..core.governor import Governor
from ..http.web import BaseHandler


class WaitsHandler(BaseHandler):
    """`GET waits`: recorded waits by team, pool, profile and task type."""

    act = _("see how long people waited")

    async def get(self) -> None:
        """Sum them up: for admins of all teams, for leads of theirs."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> WaitSheet:
            leads = caller.leads(core.known_policy)
            if not caller.admin and not leads:
                raise not_allowed(_("see how long people waited; leads of a team may"))
            return core.waits(None if caller.admin else leads, now=now)

        self.answer(await self.core.run(act))
