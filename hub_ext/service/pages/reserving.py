"""`/reservations`: a week of reserved time, whose it is, and a form to make or call off one.

Works without JavaScript; its table says all that the calendar shows.
"""

from datetime import date, datetime
from http import HTTPStatus
from urllib.parse import quote

from pydantic import ValidationError

from ...errors import RefusedError
from ...i18n import _
from ...lease.reserving import Reservation, ReservationWish
from ..core.governor import Governor
from ..http.members import groups_for
from ..sheets import reserving
from .overview import PageHandler, Route


class ReservationsPage(PageHandler):
    """The page itself."""

    async def get(self) -> None:
        """Show one week."""
        week = self.get_query_argument("week", "")
        caller = self.caller
        figures = await self.core.run(lambda core, now: reserving.gather(core, caller, week, now))
        form = {"xsrf": self.xsrf_token.decode()}
        await self.show(
            "reservations.html",
            lambda: {**reserving.sheet(figures), **form},
            title=_("Reservations"),
            here="reservations",
        )


class ReservePage(PageHandler):
    """`/reservations/make`: reserve, by the page's own form."""

    async def post(self) -> None:
        """Make it and show the week that it begins in."""
        wish, caller = self._wish(), self.caller
        groups = await groups_for(self.settings["people"], wish, caller)

        def act(core: Governor, now: datetime) -> Reservation:
            return core.reserve(wish, caller, groups=groups, now=now)

        made = await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}reservations?week={made.starts:%G-W%V}")

    def _wish(self) -> ReservationWish:
        profile, _slash, team = self._said("offer").partition("/")
        fields = {
            "profile": profile,
            "team": team or None,
            "user": self._said("user") or None,
            "server": self._said("server"),
            "starts": self._said("starts"),
            "ends": self._said("ends"),
            "weekly_until": self._said("weekly_until") or None,
            "alone": self._said("alone") or None,
            "when": self._said("when") or "hold",
            "reason": self._said("reason")[:500],
        }
        try:
            return ReservationWish.model_validate(fields)
        except ValidationError as error:
            names = ", ".join(str(one["loc"][0]) for one in error.errors())
            raise RefusedError(
                "bad-request",
                _("Go back and fill in the form: {names} cannot be read.").format(names=names),
                status=HTTPStatus.BAD_REQUEST,
            ) from error

    def _said(self, name: str) -> str:
        return self.get_body_argument(name, "").strip()


class SkipPage(PageHandler):
    """`/reservations/skip`: leave one time of a weekly one out, by the page's own form."""

    async def post(self) -> None:
        """Leave it out and show the page again."""
        wanted, caller = self.get_body_argument("reservation", ""), self.caller
        day = self._day()

        def act(core: Governor, now: datetime) -> Reservation:
            return core.skip_reservation(wanted, day, caller, now=now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}reservations#{quote(wanted, safe='')}")

    def _day(self) -> date:
        said = self.get_body_argument("day", "")
        try:
            return date.fromisoformat(said)
        except ValueError:
            raise RefusedError(
                "bad-request",
                _("{day} is no day; choose one of the list.").format(day=repr(said[:40])),
                status=HTTPStatus.BAD_REQUEST,
            ) from None


class CallOffPage(PageHandler):
    """`/reservations/cancel`: call one off, by the page's own form."""

    async def post(self) -> None:
        """Call it off and show the page again."""
        wanted, caller = self.get_body_argument("reservation", ""), self.caller

        def act(core: Governor, now: datetime) -> Reservation:
            return core.cancel_reservation(wanted, caller, now=now)

        await self.core.run(act)
        self.redirect(f"{self.hub_auth.base_url}reservations")


def handlers(prefix: str) -> list[Route]:
    """Routes of the page of reservations below `prefix`, which ends in a slash."""
    return [
        (rf"{prefix}reservations", ReservationsPage),
        (rf"{prefix}reservations/make", ReservePage),
        (rf"{prefix}reservations/skip", SkipPage),
        (rf"{prefix}reservations/cancel", CallOffPage),
    ]
