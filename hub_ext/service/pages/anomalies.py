"""`/anomalies`: what is odd about how GPUs are used, for leads and admins, with what to do.

Works without JavaScript. Who may act is checked again where it is carried out.
"""

from datetime import datetime
from http import HTTPStatus
from typing import get_args

from pydantic import ValidationError

from ...errors import RefusedError
from ...i18n import _
from ...lease.anomalies import AnomalyAct, AnomalySheet
from ..api.anomalies import DeedByHand, do, seen_by
from ..core.governor import Governor
from ..sheets import anomalies
from .overview import MOST_REASON, PageHandler, Route, only_admins


class AnomaliesPage(PageHandler):
    """The page."""

    async def get(self) -> None:
        """Show it to leads and admins."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> tuple[AnomalySheet, str]:
            policy = core.known_policy
            if not caller.admin and not caller.leads(policy):
                raise only_admins()
            zone = policy.timezone if policy else "UTC"
            return seen_by(caller, core, now=now), zone

        found, zone = await self.core.run(act)
        form = {"xsrf": self.xsrf_token.decode()}
        await self.show(
            "anomalies.html",
            lambda: {**anomalies.sheet(found, zone), **form},
            title=_("Anomalies"),
            here="anomalies",
        )


class DeedPage(PageHandler):
    """`/anomalies/act`: do something about one, by the page's own form."""

    async def post(self) -> None:
        """Carry it out and show the page again."""
        caller, wanted = self.caller, self.get_body_argument("id", "")
        said = self._said()
        await self.core.run(lambda core, now: do(caller, core, wanted, said, now=now))
        self.redirect(f"{self.hub_auth.base_url}anomalies")

    def _said(self) -> DeedByHand:
        reason = self.get_body_argument("reason", "").strip()[:MOST_REASON]
        try:
            return DeedByHand.model_validate(
                {"act": self.get_body_argument("act", ""), "reason": reason}
            )
        except ValidationError as error:
            raise RefusedError(
                "bad-request",
                _("Choose one of {acts}, and say in a few words why.").format(
                    acts=", ".join(get_args(AnomalyAct))
                ),
                status=HTTPStatus.BAD_REQUEST,
            ) from error


def handlers(prefix: str) -> list[Route]:
    """Routes below `prefix`, which ends in a slash."""
    return [
        (rf"{prefix}anomalies", AnomaliesPage),
        (rf"{prefix}anomalies/act", DeedPage),
    ]
