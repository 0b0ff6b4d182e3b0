"""Maintenance: announced, listed and called off.

For admins and the command line on the hub's machine alone; each act carries its reason.
"""

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus

from ...i18n import _
from ...lease import MaintenanceSheet
from ..core.governor import Governor
from ..devices.maintaining import Announcement
from ..http.web import BaseHandler
from .hands import ByHand


class AnnounceByHand(ByHand):
    """`POST maintenance`: what gets no lease, from when to when."""

    wanted: Announcement


class MaintenanceDoor(BaseHandler):
    """What all of these share: admins alone come here."""

    kinds = frozenset()
    act = _("announce maintenance; administrators may")

    async def do(self, act: Callable[[Governor, datetime], MaintenanceSheet]) -> None:
        """Carry it out and show what is announced then."""
        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)


class MaintenanceHandler(MaintenanceDoor):
    """`GET maintenance`, `POST maintenance`: what is announced, and one more."""

    async def get(self) -> None:
        """Show it."""
        self.answer(await self.core.run(lambda core, now: core.maintenance(now=now)))

    async def post(self) -> None:
        """Record it; the notices follow within seconds."""
        said = self.body(AnnounceByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.announce(said.wanted, reason=said.reason, actor=actor, now=now)
        )


class CallOffHandler(MaintenanceDoor):
    """`POST maintenance/{id}/call-off`: it does not come, or ends now."""

    async def post(self, maintenance_id: str) -> None:
        """Record it; its notices are taken back within seconds."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.call_off(
                maintenance_id, reason=said.reason, actor=actor, now=now
            )
        )
