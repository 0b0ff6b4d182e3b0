"""The form with which a lead lets somebody of the team keep servers for longer.

Works without JavaScript. Who may is checked here again, before anything is recorded.
"""

from datetime import datetime, timedelta
from http import HTTPStatus

from ...errors import RefusedError, UnitError
from ...i18n import _
from ...lease import UserName
from ...units import duration_text, parse_duration
from ..api.sharing import may_lead
from ..core.governor import Governor
from ..reclaim.keepgrants import LONGEST, MOST_S, KeepWish
from .overview import MOST_REASON, PageHandler, Route

_MOST_NAME = 255
_MOST_SPAN = 20


class KeepPage(PageHandler):
    """`/team/<team>/keep`: grant it, by the team page's own form."""

    async def post(self, team: str) -> None:
        """Record the grant and show the team's page again."""
        caller = self.caller
        user, more_s, days, reason = self._said()

        def act(core: Governor, now: datetime) -> None:
            may_lead(caller, core, team)
            wanted = KeepWish(user=user, more_s=more_s, until=now + timedelta(days=days))
            core.grant_keep(team, wanted, reason=reason, actor=caller.actor, now=now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}team/{team}#keeps")

    def _said(self) -> tuple[UserName, int, int, str]:
        reason = " ".join(self.get_body_argument("reason", "").split())[:MOST_REASON]
        user = self.get_body_argument("user", "").strip()
        if not reason or not user:
            raise _bad(_("Say who may keep servers for longer, and why; both are recorded."))
        if len(user) > _MOST_NAME:
            raise _bad(_("No person of this hub has a name of that length."))
        return UserName(user), self._more(), self._days(), reason

    def _more(self) -> int:
        try:
            span = parse_duration(self.get_body_argument("more", "")[:_MOST_SPAN])
        except UnitError as error:
            raise _bad(str(error)) from None
        more_s = span // timedelta(seconds=1)
        if more_s > MOST_S:
            most = duration_text(timedelta(seconds=MOST_S))
            raise _bad(_("A grant adds at most {most}; grant less.").format(most=most))
        return more_s

    def _days(self) -> int:
        text = self.get_body_argument("days", "")
        if not text.isascii() or not text.isdigit() or not 0 < int(text[:4]) <= LONGEST.days:
            raise _bad(
                _("Write for how many days it holds: 1 to {most}.").format(most=LONGEST.days)
            )
        return int(text)


def _bad(message: str) -> RefusedError:
    return RefusedError("bad-request", message, status=HTTPStatus.BAD_REQUEST)


def handlers(prefix: str) -> list[Route]:
    """Routes below `prefix`, which ends in a slash."""
    return [(rf"{prefix}team/([^/]+)/keep", KeepPage)]
