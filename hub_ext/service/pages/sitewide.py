"""`/admin/money` and `/admin/fleet`: the site's year, closing months, prices, acts, the fleet.

For admins alone. A price is only tried here; prices are changed in the policy.
"""

from datetime import datetime
from http import HTTPStatus

from ...errors import RefusedError, UnitError
from ...i18n import _
from ...lease.fleet import FleetSheet
from ...policy.model import Policy
from ...reports.repricing import Wish
from ...units import parse_price
from ..core.governor import Governor
from ..money.sitemoney import ACTS, SiteMoney
from ..sheets import fleet
from ..sheets import sitemoney as sheets
from ..sheets.filters import sheet as filters_sheet
from ..sheets.narrowing import Filters, Offered
from .money import MoneyHandler
from .overview import MOST_REASON, PageHandler, Route, only_admins


class SiteMoneyPage(PageHandler):
    """The page."""

    async def get(self) -> None:
        """Show it to admins."""
        if not self.caller.admin:
            raise only_admins()
        kind = self._kind()
        review = self.get_query_argument("review", "") == "1"

        def act(core: Governor, now: datetime) -> tuple[SiteMoney, Wish | None]:
            wish = self._wish(core.policy)
            kinds = (kind,) if kind else ACTS
            return core.site_money(kinds, wish, review=review, now=now), wish

        found, wish = await self.core.run(act)
        form = {"xsrf": self.xsrf_token.decode(), "kinds": ACTS}
        await self.show(
            "sitemoney.html",
            lambda: {**sheets.sheet(found, wish, kind), **form},
            title=_("Money of this hub"),
            here="money",
        )

    def _kind(self) -> str:
        kind = self.get_query_argument("kind", "").strip()
        if kind and kind not in ACTS:
            raise _bad(
                _("There is no kind of act {kind}. Choose one of: {kinds}.").format(
                    kind=repr(kind[:40]), kinds=", ".join(ACTS)
                )
            )
        return kind

    def _wish(self, policy: Policy) -> Wish | None:
        pool, flavor, text = (
            self.get_query_argument(name, "").strip() for name in ("pool", "flavor", "per_hour")
        )
        if not pool and not text:
            return None
        if pool not in policy.pools:
            raise _bad(
                _("There is no pool {pool}. Choose one of: {pools}.").format(
                    pool=repr(pool[:40]), pools=", ".join(policy.pools)
                )
            )
        try:
            return Wish(pool, flavor or "gpu", parse_price(text))
        except UnitError as error:
            raise _bad(_("per_hour is a price such as 4.20: {why}.").format(why=error)) from error


class FleetPage(MoneyHandler):
    """`/admin/fleet`: where all that is installed went in some time."""

    async def get(self) -> None:
        """Show it to admins."""
        if not self.caller.admin:
            raise only_admins()

        def act(core: Governor, now: datetime) -> tuple[Filters, FleetSheet, datetime, str]:
            asked, zone = self.asked(core, now), core.policy.timezone
            return asked, core.fleet(asked.window.start, asked.window.end, now=now), now, zone

        asked, found, now, zone = await self.core.run(act)
        right = Offered((), (), (), ())
        await self.show(
            "fleet.html",
            lambda: {
                **filters_sheet(asked, right, now, zone),
                **fleet.sheet(found, asked.window.title),
            },
            title=_("Where all that is installed went"),
            here="money",
        )


class CloseMonthPage(PageHandler):
    """`/admin/money/close`: the month that is next is closed, by the page's own form."""

    async def post(self) -> None:
        """Close it and show the page again."""
        if not self.caller.admin:
            raise only_admins()
        month = self.get_body_argument("month", "")
        reason = self.get_body_argument("reason", "").strip()[:MOST_REASON]
        if not reason:
            raise _bad(_("Say in a few words why; they are recorded with your name."))
        actor = self.caller.actor
        await self.core.run(
            lambda core, now: core.close_month(month, reason=reason, actor=actor, now=now)
        )
        self.redirect(f"{self.hub_auth.base_url}admin/money#close")


def _bad(words: str) -> RefusedError:
    return RefusedError("bad-request", words, status=HTTPStatus.BAD_REQUEST)


def handlers(prefix: str) -> list[Route]:
    """Routes below `prefix`, which ends in a slash."""
    return [
        (rf"{prefix}admin/money", SiteMoneyPage),
        (rf"{prefix}admin/money/close", CloseMonthPage),
        (rf"{prefix}admin/fleet", FleetPage),
    ]
