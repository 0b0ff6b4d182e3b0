"""`/limits`: every rule that binds me; and the form with which a lead moves a team's quota.

Works without JavaScript. Who may move is checked here again, before anything is recorded.
"""

from datetime import date, datetime
from http import HTTPStatus
from itertools import groupby

from ...errors import RefusedError
from ...i18n import _
from ...lease import Limit, LimitSheet, PoolName, ProjectName, UserName
from ...policy.catalogue import Person
from ..api.sharing import MoveQuota, may_lead
from ..core.governor import Governor
from .overview import MOST_REASON, PageHandler, Route

_MOST_DIGITS = 40
"""Characters of a number of GPUs that are read."""

NOBODY = ""
"""Value of the select for what a team has not shared out."""


def subjects() -> dict[str, str]:
    """Headings of the page, in its order."""
    return {
        "quota": _("Quota"),
        "contract": _("What you can count on"),
        "caps": _("How many at once"),
        "lifetime": _("Lifetimes"),
        "task types": _("Task types open to you"),
        "waiting": _("Waiting"),
        "reservations": _("Reservations"),
        "idle": _("Idleness"),
        "prices": _("Prices"),
        "budgets": _("Budgets"),
    }


def modes() -> dict[str, str]:
    """Say what a mode makes of a rule."""
    return {
        "always": _("always"),
        "enforce": _("enforced"),
        "advise": _("told, not enforced"),
        "observe": _("only recorded"),
    }


def words(found: LimitSheet) -> dict[str, object]:
    """Put the limits into sections."""
    order = subjects()
    known = sorted(found.limits, key=lambda one: list(order).index(one.subject))
    return {
        "teams": found.teams,
        "generation": found.policy_generation,
        "sections": [
            {"title": order[subject], "key": subject.replace(" ", "-"), "rows": rows(list(limits))}
            for subject, limits in groupby(known, key=lambda one: one.subject)
        ],
    }


def rows(limits: list[Limit]) -> list[dict[str, str]]:
    """Rows of one section."""
    said = modes()
    return [
        {
            "team": one.team or _("all"),
            "words": one.words,
            "mode": said[one.in_force],
            "origin": one.origin,
        }
        for one in limits
    ]


class LimitsPage(PageHandler):
    """The page of my limits."""

    async def get(self) -> None:
        """Show it."""
        person = Person(user=UserName(self.caller.name), groups=self.caller.groups)
        found = await self.core.run(lambda core, now: core.limits(person, now=now))
        await self.show("limits.html", lambda: words(found), title=_("My limits"), here="limits")


class MovePage(PageHandler):
    """`/team/<team>/move`: move quota, by the team page's own form."""

    async def post(self, team: str) -> None:
        """Record the move and show the team's page again."""
        caller, said = self.caller, self._said()

        def act(core: Governor, now: datetime) -> None:
            may_lead(caller, core, team)
            core.move_quota(team, said.wanted(), reason=said.reason, actor=caller.actor, now=now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}team/{team}#shares")

    def _said(self) -> MoveQuota:
        reason = " ".join(self.get_body_argument("reason", "").split())[:MOST_REASON]
        if not reason:
            raise _bad(_("Say why the quota is moved; it is recorded with your name."))
        return MoveQuota(
            reason=reason,
            pool=PoolName(self.get_body_argument("pool", "")),
            from_project=self._project("from_project"),
            to_project=self._project("to_project"),
            # Longer is no number; the words of the refusal stay short.
            gpus=self.get_body_argument("gpus", "")[:_MOST_DIGITS],
            first_day=self._day("first_day"),
            until=self._day("until"),
        )

    def _project(self, name: str) -> ProjectName | None:
        value = self.get_body_argument(name, NOBODY)
        return None if value == NOBODY else ProjectName(value)

    def _day(self, name: str) -> date | None:
        text = self.get_body_argument(name, "")
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            raise _bad(_("Write days as 2026-12-01.")) from None


def _bad(message: str) -> RefusedError:
    return RefusedError("bad-request", message, status=HTTPStatus.BAD_REQUEST)


def handlers(prefix: str) -> list[Route]:
    """Routes below `prefix`, which ends in a slash."""
    return [
        (rf"{prefix}limits", LimitsPage),
        (rf"{prefix}team/([^/]+)/move", MovePage),
    ]
