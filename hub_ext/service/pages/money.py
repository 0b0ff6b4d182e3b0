"""The pages of money: a person's own, and a team's for its leads and admins.

Who may see one is checked here before anything is read for it; filters are in the address.
"""

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from http import HTTPStatus
from urllib.parse import quote, urlencode

from ...errors import RefusedError
from ...i18n import _
from ...lease import LeaseId
from ...lease.monthreport import MonthReport
from ..books.leasefacts import AT_ONCE
from ..core.governor import Governor
from ..money.spending import Stretch
from ..money.usage import Scope
from ..sheets import mine, team
from ..sheets import narrowing as filters
from ..sheets.month import sheet as month_sheet
from ..sheets.narrowing import Filters
from .monthfiles import as_csv, as_html
from .overview import PageHandler, Route, only_admins


class MoneyHandler(PageHandler):
    """A page of what was charged in some time."""

    async def prepare(self) -> None:
        """Send a form's answer on to the address that says the same without empty names."""
        await super().prepare()
        said = [
            (name, text)
            for name in self.request.query_arguments
            for text in self.get_query_arguments(name)
        ]
        if not self._finished and any(not text for _name, text in said):
            rest = urlencode([(name, text) for name, text in said if text])
            self.redirect(f"{self.request.path}?{rest}" if rest else self.request.path)

    def asked(self, governor: Governor, now: datetime) -> Filters:
        """Read the filters of the address."""
        policy = governor.known_policy
        return filters.read(self, now, policy.timezone if policy else "UTC")

    async def learn(self, scope: Scope, asked: Filters) -> None:
        """Let what reports tell of these leases be read, some at a time: starts come between."""
        stretch = Stretch(asked.window.name, asked.window.start, asked.window.end)
        lacking = await self.core.run(lambda core, now: core.lacking_facts(scope, stretch, now=now))
        for first in range(0, len(lacking), AT_ONCE):
            await self.core.run(partial(_read, lacking[first : first + AT_ONCE]))


class MyPage(MoneyHandler):
    """`/`: what I hold, what it cost, what binds me."""

    async def get(self) -> None:
        """Show it."""
        asked = await self.core.run(self.asked)
        await self.learn(Scope("me", user=self.caller.name), asked)
        figures = await self.core.run(
            lambda governor, now: mine.gather(governor, self.caller, asked, now)
        )
        views = await self.views(figures.leases)
        await self.show(
            "mine.html", lambda: mine.sheet(figures, views), title=_("My usage"), here="mine"
        )


class TeamPage(MoneyHandler):
    """`/team/<team>`: for its leads and admins."""

    async def get(self, wanted: str) -> None:
        """Show it, or say the same words for a team that is not there and one of others."""

        def let_in(governor: Governor, now: datetime) -> tuple[Filters, bool]:
            policy = governor.policy
            if not self.caller.admin and wanted not in self.caller.leads(policy):
                raise only_admins()
            if wanted not in policy.teams:
                raise no_such_team(wanted)
            return self.asked(governor, now), self.caller.admin or policy.statement.members

        asked, people = await self.core.run(let_in)
        if asked.person and not people:
            raise _no_people()
        await self.learn(Scope(f"team:{wanted}", teams=(wanted,)), asked)
        figures = await self.core.run(
            lambda governor, now: team.gather(governor, wanted, asked, now, people=people)
        )
        views = await self.views(figures.leases)
        form = {"xsrf": self.xsrf_token.decode()}
        await self.show(
            "team.html",
            lambda: {**team.sheet(figures, views), **form},
            title=_("Team {team}").format(team=wanted),
            here=f"team:{wanted}",
        )


class MonthPage(MoneyHandler):
    """`/team/<team>/month/<month>`: the report of a month, `?as=csv` or `?as=html` as a file."""

    async def get(self, wanted: str, month: str) -> None:
        """Show it, or send it as a file."""

        def act(governor: Governor, now: datetime) -> MonthReport:
            policy = governor.policy
            if not self.caller.admin and wanted not in self.caller.leads(policy):
                raise only_admins()
            people = self.caller.admin or policy.statement.members
            return governor.month_report(wanted, month, people=people, now=now)

        report = await self.core.run(act)
        form = self.get_query_argument("as", "page")
        if form == "page":
            title = _("Team {team}, {month}").format(team=wanted, month=report.month)
            await self.show(
                "month.html", lambda: month_sheet(report), title=title, here=f"team:{wanted}"
            )
            return
        if form not in FILES:
            raise _no_such_form()
        kind, write = FILES[form]
        text = await asyncio.to_thread(write, report)
        name = f"gpu-commons-{report.team}-{report.month}.{form}"
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.set_header("Content-Disposition", f'attachment; filename="{quote(name)}"')
        self.finish(text)


FILES: dict[str, tuple[str, Callable[[MonthReport], str]]] = {
    "csv": ("text/csv", as_csv),
    "html": ("text/html", as_html),
}


def _read(some: Collection[LeaseId], governor: Governor, now: datetime) -> None:
    governor.read_facts(some, now=now)


def no_such_team(name: str) -> RefusedError:
    """The policy does not have it."""
    return RefusedError(
        "no-such-team",
        _("The policy has no team {name}. The admin page lists those that it has.").format(
            name=repr(name[:80])
        ),
        status=HTTPStatus.NOT_FOUND,
    )


def _no_such_form() -> RefusedError:
    return RefusedError(
        "unknown-form",
        _("A month's report is a page, as=csv or as=html."),
        status=HTTPStatus.BAD_REQUEST,
    )


def _no_people() -> RefusedError:
    return RefusedError(
        "no-people",
        _(
            "The policy shows leads no figures of single people (statement.members). Leave the "
            "person away; projects and GPU models can be chosen."
        ),
        status=HTTPStatus.FORBIDDEN,
    )


def handlers(prefix: str) -> list[Route]:
    """Routes below `prefix`, which ends in a slash."""
    return [
        (prefix, MyPage),
        (rf"{prefix}team/([^/]+)", TeamPage),
        (rf"{prefix}team/([^/]+)/month/([^/]+)", MonthPage),
    ]
