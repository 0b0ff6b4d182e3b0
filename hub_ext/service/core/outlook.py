"""The part of the core that says where a team's month is going.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime

from ...errors import RefusedError
from ...i18n import _
from ...lease.outlook import TeamOutlook
from ..books.desk import Desk
from ..money import outlooks
from ..money.pastdays import PastDays


class OutlookCore:
    """Outlooks of teams."""

    _desk: Desk
    _past_days: PastDays

    def read_past_days(self, *, now: datetime) -> bool:
        """Read some more days of months that are over; whether there are more.

        Raises
        ------
        RefusedError
            While no policy is in force.
        """
        with self._desk.turn(now) as turn:
            return self._past_days.read(turn)

    def outlook(self, team: str, *, now: datetime) -> TeamOutlook:
        """Say where the month of a team is going.

        Raises
        ------
        RefusedError
            When the policy has no such team, or none is in force.
        """
        return self.team_money(team, now=now).outlook

    def team_money(self, team: str, *, now: datetime) -> outlooks.TeamMoney:
        """Say the same, with the team's budgets and how they go down.

        Raises
        ------
        RefusedError
            When the policy has no such team, or none is in force.
        """
        if team not in self._desk.book.policy.teams:
            raise RefusedError(
                "no-such-team",
                _("The policy has no team {team}.").format(team=repr(team[:80])),
                status=404,
            )
        return outlooks.money_of(self._desk, self._past_days, team, now=now)
