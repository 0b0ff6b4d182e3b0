"""Where a team's month is going, for its leads and for admins."""

from datetime import datetime

from ...i18n import _
from ...lease.outlook import TeamOutlook
from ..core.governor import Governor
from ..http.web import BaseHandler
from .figures import scope_of


class OutlookHandler(BaseHandler):
    """`GET teams/{team}/outlook`: the month so far, what is agreed, what is likely."""

    act = _("see this team's usage")

    async def get(self, team: str) -> None:
        """Reckon it."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> TeamOutlook:
            scope_of(caller, f"team:{team}", caller.leads(core.policy))
            return core.outlook(team, now=now)

        self.answer(await self.core.run(act))
