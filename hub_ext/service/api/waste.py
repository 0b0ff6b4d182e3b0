"""Waste, priced: a person's own, a team's for its leads, all of it for admins."""

from datetime import datetime
from http import HTTPStatus
from typing import get_args

from ...errors import RefusedError
from ...i18n import _
from ...lease.waste import WasteDimension, WasteSheet
from ..core.governor import Governor
from ..http.web import BaseHandler
from .figures import scope_of
from .queries import stretch

DIMENSIONS: tuple[WasteDimension, ...] = get_args(WasteDimension)


class WasteHandler(BaseHandler):
    """`GET waste`: what was held and did no work in a window, told apart by `aggregate`."""

    act = _("see waste")

    async def get(self) -> None:
        """Sum it up."""
        caller, text = self.caller, self.get_query_argument("scope", "me")
        by = _aggregate(self.get_query_argument("aggregate", None) or "team")

        def act(core: Governor, now: datetime) -> WasteSheet:
            policy = core.policy
            scope = scope_of(caller, text, caller.leads(policy))
            start, end = stretch(self, now, policy.timezone, otherwise="month")
            return core.waste(scope, start, end, by=by, now=now)

        self.answer(await self.core.run(act))


def _aggregate(text: str) -> tuple[WasteDimension, ...]:
    words = [word.strip() for word in text.split(",")]
    found = tuple(one for word in words for one in DIMENSIONS if one == word)
    if len(found) == len(words) == len(set(found)):
        return found
    raise RefusedError(
        "bad-request",
        _(
            "aggregate names each of these at most once, with commas between: {words}. For "
            "example aggregate=team,profile."
        ).format(words=", ".join(DIMENSIONS)),
        status=HTTPStatus.BAD_REQUEST,
    )
