"""The pages for people: my usage, a team's, the admin's, and why a server ended.

Who may see a page is checked here, before anything is read for it. Pages change nothing, but for
an admin's word on a policy that waits for it.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from tornado.web import RequestHandler, StaticFileHandler

from ...admission.protection import LIVE
from ...errors import RefusedError
from ...i18n import _, ngettext, spoken_language
from ...lease import LeaseId, LeaseState, LeaseView, OpenLease, ServerKey, ServerName, UserName
from ...lease.value import LeaseValue
from ...policy.model import Policy
from ..api.value import told_of
from ..basis.refusals import no_such_lease, not_allowed
from ..books import formats
from ..core.governor import Governor
from ..http.problems import problem_of
from ..http.web import BaseHandler
from ..leasing.dossier import Dossier
from ..sheets import lease as lease_sheet
from ..sheets import site
from ..sheets import value as value_sheet

STATIC = Path(__file__).parents[1] / "static"
CHARTS = STATIC / "plotly-basic.min.js"
"""Comes from npm when the product is built; without it pages have their tables alone."""

EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""Plotly makes one empty style element and fills it through the DOM; only that is let in."""

CONTENT_SECURITY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {EMPTY_STYLE}",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

LOOK_AGAIN_S = 5
"""Seconds after which the page of a server that stops is asked for again."""

MOST_REASON = 500
"""Characters of a reason that are kept."""


@cache
def templates() -> Environment:
    """Make the environment of all templates: everything is escaped, a misspelt name is an error."""
    environment = Environment(
        loader=PackageLoader("hub_ext.service"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(_=_, ngettext=ngettext, language=spoken_language())
    return environment


def _rendered(template: str, context: dict[str, object]) -> str:
    return templates().get_template(template).render(context)


class PageHandler(BaseHandler):
    """A page: for people in a browser alone, answered as HTML whatever happens."""

    page = True

    async def prepare(self) -> None:
        """Let in people who have signed in; a server's or a service's token sees no page."""
        await super().prepare()
        if not self._finished and self.caller.kind != "person":
            raise not_allowed(_("open the pages"))

    def set_default_headers(self) -> None:
        """Allow the page its own style and script, and nothing from elsewhere."""
        super().set_default_headers()
        self.set_header("Content-Security-Policy", CONTENT_SECURITY)
        self.set_header("Referrer-Policy", "same-origin")

    def context(self, *, title: str, here: str, **more: object) -> dict[str, object]:
        """What every page says of itself. `here` is its place in the navigation."""
        hub = f"{self.hub_auth.hub_host}{self.hub_auth.hub_prefix}"
        return {
            "title": title,
            "here": here,
            "caller": getattr(self, "caller", None),
            "led": (),
            "simulated": False,
            "as_of": "",
            "zone": "UTC",
            "prefix": self.hub_auth.base_url,
            "hub": hub,
            "servers": f"{hub.removesuffix('hub/')}user/",
            "charts": CHARTS.is_file(),
            **more,
        }

    async def show(
        self, template: str, sheet: Callable[[], dict[str, object]], *, title: str, here: str = ""
    ) -> None:
        """Answer with a page. Words and markup are made beside the event loop and the core."""

        def frame(governor: Governor, now: datetime) -> dict[str, object]:
            policy = governor.known_policy
            zone = policy.timezone if policy else "UTC"
            led = self.caller.leads(policy)
            return {"led": led, "zone": zone, "as_of": formats.instant(now, zone)}

        context = self.context(title=title, here=here, **await self.core.run(frame))
        page = await asyncio.to_thread(lambda: _rendered(template, {**context, **sheet()}))
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(page)

    async def why(self, file: Dossier, policy: Policy | None) -> None:
        """Show a lease; while its server stops, a browser asks again by itself, without scripts."""
        if _stops(file):
            self.set_header("Refresh", str(LOOK_AGAIN_S))
        value = await self.core.run(partial(told_of, self.caller, file.lease.id))
        words = partial(self.lease_sheet, file, policy, value)
        await self.show("lease.html", words, title=_("Why"))

    def lease_sheet(
        self, file: Dossier, policy: Policy | None, value: LeaseValue
    ) -> dict[str, object]:
        """Put a lease into words, with the forms for its owner where something can be done."""
        mine = self.caller.owns(file.view.server)
        found = lease_sheet.sheet(file, policy)
        found |= value_sheet.sheet(value, mine=mine, ran=file.lease.started_at is not None)
        looks_again = LOOK_AGAIN_S if _stops(file) else 0
        lease = file.view.lease
        form = {
            "again": found["again"] and mine,
            "can_switch": mine and lease is not None and lease.state in LIVE,
            "xsrf": self.xsrf_token.decode(),
        }
        return {**found, **form, "looks_again_s": looks_again}

    async def views(self, leases: Iterable[OpenLease]) -> tuple[LeaseView, ...]:
        """Read leases one by one, so that whoever asks for a GPU meanwhile does not wait."""
        return tuple([await self.core.run(partial(_view, lease.id)) for lease in leases])

    def write_error(self, status_code: int, **kwargs: Any) -> None:  # noqa: ANN401 - Tornado's own signature
        """Answer any error as a page with its words."""
        problem = problem_of(kwargs.get("exc_info", (None, None, None))[1], status_code)
        self.set_status(problem.status)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        context = self.context(title=problem.title, here="", words=problem.detail)
        self.finish(_rendered("error.html", context))


class AdminPage(PageHandler):
    """`/admin`: pools, leases and policy, for admins."""

    async def get(self) -> None:
        """Show it."""
        if not self.caller.admin:
            raise only_admins()
        figures = await self.core.run(site.gather)
        views = await self.views(figures.leases)
        form = {"xsrf": self.xsrf_token.decode()}
        await self.show(
            "site.html",
            lambda: {**site.sheet(figures, views), **form},
            title=_("Admin"),
            here="admin",
        )


class AcceptPage(PageHandler):
    """`/admin/policy`: an admin's word on the policy text that waits."""

    async def post(self) -> None:
        """Bring it into force and show the admin page again."""
        if not self.caller.admin:
            raise only_admins()
        sha256 = self.get_body_argument("sha256", "")
        actor = self.caller.actor
        reason = self.get_body_argument("reason", "").strip()[:MOST_REASON]
        if not reason:
            raise RefusedError(
                "no-reason",
                _("Say in a few words why this policy is accepted; they are recorded with it."),
                status=HTTPStatus.BAD_REQUEST,
            )
        await self.core.run(
            lambda governor, now: governor.accept_policy(
                sha256, reason=reason, actor=actor, now=now
            )
        )
        self.redirect(f"{self.hub_auth.base_url}admin")


class LeasePage(PageHandler):
    """`/leases/<id>`: one lease, for its owner, its team's leads and admins."""

    async def get(self, lease_id: str) -> None:
        """Show it, or the same words for one that is not there and one of others."""
        wanted = LeaseId(lease_id)

        def act(governor: Governor, now: datetime) -> tuple[Dossier, Policy | None]:
            lease, policy = governor.lease(wanted), governor.known_policy
            if lease is None or not self.caller.sees(lease, policy):
                raise no_such_lease()
            return governor.dossier(wanted, now=now), policy

        file, policy = await self.core.run(act)
        await self.why(file, policy)


class WhyPage(PageHandler):
    """`/why/<user>/<server>`: the newest lease of a server; the default server is `-`."""

    async def get(self, user: str, server: str) -> None:
        """Show it; of a server of somebody else not even whether it was ever started."""
        name = ServerName("" if server == "-" else server)
        key = ServerKey(hub=self.governor_settings.hub, user=UserName(user), server=name)

        def act(governor: Governor, now: datetime) -> tuple[Dossier | None, Policy | None]:
            view, policy = governor.view(key, now=now), governor.known_policy
            lease = view.lease or view.ended
            if lease is None and self.caller.owns(key):
                return None, policy
            if lease is None or not self.caller.sees(lease, policy):
                raise no_such_lease()
            return governor.dossier(lease.id, now=now), policy

        file, policy = await self.core.run(act)
        if file is not None:
            await self.why(file, policy)
            return
        words: dict[str, object] = {"owner": user, "server": formats.server_name(name)}
        await self.show("nothing.html", lambda: words, title=_("Why"))


def _stops(file: Dossier) -> bool:
    lease = file.view.lease
    return lease is not None and lease.state is LeaseState.stopping


def _view(lease_id: LeaseId, governor: Governor, now: datetime) -> LeaseView:
    return governor.view_of(lease_id, now=now)


def only_admins() -> RefusedError:
    """The page is for others."""
    return RefusedError(
        "not-for-you",
        _(
            "This page is for administrators, or for the leads of a team. Your own figures are "
            "under My usage; ask an administrator if you should see more."
        ),
        status=HTTPStatus.FORBIDDEN,
    )


class Assets(StaticFileHandler):
    """Style and scripts: the same for everybody, so nobody is asked who calls."""

    def set_extra_headers(self, path: str) -> None:  # noqa: ARG002 - Tornado's own signature
        """Let browsers keep them, and never guess their kind."""
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-cache")


Route = tuple[str, type[RequestHandler]] | tuple[str, type[RequestHandler], dict[str, object]]


def handlers(prefix: str) -> list[Route]:
    """Routes of all pages below `prefix`, which ends in a slash."""
    return [
        (rf"{prefix}admin", AdminPage),
        (rf"{prefix}admin/policy", AcceptPage),
        (rf"{prefix}leases/([^/]+)", LeasePage),
        (rf"{prefix}why/([^/]+)/([^/]+)", WhyPage),
        (rf"{prefix}static/(.*)", Assets, {"path": str(STATIC)}),
    ]
