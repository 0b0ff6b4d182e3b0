"""Devices in and out of service, and drains.

For admins and the command line on the hub's machine alone; each act carries its reason.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from ...i18n import _
from ...lease import DeviceId, DeviceSheet, Place, ShortText, Spot
from ..core.governor import Governor
from ..http.web import BaseHandler
from .hands import ByHand


class DrainByHand(ByHand):
    """`POST drains`: what gets no new lease, and after how long leases there are stopped."""

    place: Place
    name: ShortText
    after_s: Annotated[int, Field(ge=0, le=366 * 86400, strict=True)] | None = None


class LiftByHand(ByHand):
    """`POST drains/lift`: which drain ends."""

    place: Place
    name: ShortText


class DeviceDoor(BaseHandler):
    """What all of these share: admins alone come here."""

    kinds = frozenset()
    act = _("take devices out of service; administrators may")

    async def do(self, act: Callable[[Governor, datetime], DeviceSheet]) -> None:
        """Carry it out and show all devices as they are then."""
        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)


class DevicesHandler(DeviceDoor):
    """`GET devices`: all of them."""

    async def get(self) -> None:
        """Show them."""
        self.answer(await self.core.run(lambda core, now: core.device_sheet(now=now)))


class OutHandler(DeviceDoor):
    """`POST devices/{device}/out`: take it out of service."""

    async def post(self, device: str) -> None:
        """Record it; who has it keeps it."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.take_out(
                DeviceId(device), reason=said.reason, actor=actor, now=now
            )
        )


class BackHandler(DeviceDoor):
    """`POST devices/{device}/back`: bring it back."""

    async def post(self, device: str) -> None:
        """Record it; it can be handed out at once."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.bring_back(
                DeviceId(device), reason=said.reason, actor=actor, now=now
            )
        )


class DrainHandler(DeviceDoor):
    """`POST drains`: no new lease there, and announced ends."""

    async def post(self) -> None:
        """Record it; the notices follow within seconds."""
        said = self.body(DrainByHand)
        actor = self.caller.acting(said.by)
        after = None if said.after_s is None else timedelta(seconds=said.after_s)
        await self.do(
            lambda core, now: core.drain(
                Spot(place=said.place, name=said.name),
                after=after,
                reason=said.reason,
                actor=actor,
                now=now,
            )
        )


class LiftHandler(DeviceDoor):
    """`POST drains/lift`: end a drain."""

    async def post(self) -> None:
        """Record it; its notices are taken back within seconds."""
        said = self.body(LiftByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.lift(
                Spot(place=said.place, name=said.name), reason=said.reason, actor=actor, now=now
            )
        )
