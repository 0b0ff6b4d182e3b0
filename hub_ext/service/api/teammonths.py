"""The report of a team's month, for its leads and for admins."""

from datetime import datetime

from ...i18n import _
from ...lease.monthreport import MonthReport
from ..core.governor import Governor
from ..http.web import BaseHandler
from .figures import scope_of


class TeamMonthHandler(BaseHandler):
    """`GET teams/{team}/months/{month}`: one month, every table of it adding up."""

    act = _("see this team's usage")

    async def get(self, team: str, month: str) -> None:
        """Make it; people are named to whom the policy names them."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> MonthReport:
            policy = core.policy
            scope_of(caller, f"team:{team}", caller.leads(policy))
            people = caller.admin or policy.statement.members
            return core.month_report(team, month, people=people, now=now)

        self.answer(await self.core.run(act))
