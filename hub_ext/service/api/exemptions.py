"""Exemptions from the idle rules: given, listed and ended.

For admins and the command line on the hub's machine alone; each act carries its reason.
"""

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus

from ...i18n import _
from ...lease import ExemptionSheet
from ..core.governor import Governor
from ..http.web import BaseHandler
from ..reclaim.exempting import ExemptionWish
from .hands import ByHand


class ExemptByHand(ByHand):
    """`POST exemptions`: who or what is exempt, and until when."""

    wanted: ExemptionWish


class ExemptionDoor(BaseHandler):
    """What all of these share: admins alone come here."""

    kinds = frozenset()
    act = _("exempt from the idle rules; administrators may")

    async def do(self, act: Callable[[Governor, datetime], ExemptionSheet]) -> None:
        """Carry it out and show what holds then."""
        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)


class ExemptionsHandler(ExemptionDoor):
    """`GET exemptions`, `POST exemptions`: what holds, and one more."""

    async def get(self) -> None:
        """Show them."""
        self.answer(await self.core.run(lambda core, now: core.exemptions(now=now)))

    async def post(self) -> None:
        """Record it; a notice for idleness is taken back within seconds."""
        said = self.body(ExemptByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.exempt(said.wanted, reason=said.reason, actor=actor, now=now)
        )


class EndExemptionHandler(ExemptionDoor):
    """`POST exemptions/{id}/end`: it ends now."""

    async def post(self, exemption_id: str) -> None:
        """Record it; the idle rule holds again at once."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.end_exemption(
                exemption_id, reason=said.reason, actor=actor, now=now
            )
        )
