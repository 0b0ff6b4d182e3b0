"""What administrators do to leases by hand: close, release, move, and open one for a server.

For admins and the command line on the hub's machine alone; each act carries its reason.
"""

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from pydantic import AwareDatetime, StringConstraints

from ...i18n import _
from ...lease import LeaseId, LeaseView, OpenLease, Value
from ..basis.access import Kind
from ..core.governor import Governor
from ..http.web import BaseHandler
from ..leasing.adopting import Wanted
from ..leasing.hands import Destination

ReasonText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class ByHand(Value):
    """Why, and, from the command line on the hub's machine, who typed it."""

    reason: ReasonText
    by: Annotated[str, StringConstraints(max_length=200)] = ""


class MoveByHand(ByHand):
    """`POST leases/{lease_id}/move`: whose it becomes."""

    into: Destination


class ProlongByHand(ByHand):
    """`POST leases/{lease_id}/prolong`: until when."""

    until: AwareDatetime


class GrantByHand(ByHand):
    """`POST grants`: for which running server, and as what."""

    wanted: Wanted


class HandDoor(BaseHandler):
    """What all of these share: admins alone come here."""

    kinds: frozenset[Kind] = frozenset()
    act = _("change leases by hand; administrators may")

    async def do(self, act: Callable[[Governor, datetime], OpenLease]) -> None:
        """Carry it out and show the lease as it is then."""

        def both(core: Governor, now: datetime) -> LeaseView:
            return core.view_of(act(core, now).id, now=now)

        self.answer(await self.core.run(both), HTTPStatus.ACCEPTED)


class CloseHandler(HandDoor):
    """`POST leases/{lease_id}/close`: ask for its end."""

    async def post(self, lease_id: str) -> None:
        """Record the wish; the hub is asked right after."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.close_by_hand(
                LeaseId(lease_id), reason=said.reason, actor=actor, now=now
            )
        )


class ForceReleaseHandler(HandDoor):
    """`POST leases/{lease_id}/force-release`: close it without proof."""

    async def post(self, lease_id: str) -> None:
        """Close it."""
        said = self.body(ByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.force_release(
                LeaseId(lease_id), reason=said.reason, actor=actor, now=now
            )
        )


class ProlongHandler(HandDoor):
    """`POST leases/{lease_id}/prolong`: let it live longer than agreed."""

    async def post(self, lease_id: str) -> None:
        """Put its end."""
        said = self.body(ProlongByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.prolong(
                LeaseId(lease_id), said.until, reason=said.reason, actor=actor, now=now
            )
        )


class MoveHandler(HandDoor):
    """`POST leases/{lease_id}/move`: let another team or project hold it."""

    async def post(self, lease_id: str) -> None:
        """Split its charge now."""
        said = self.body(MoveByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.move(
                LeaseId(lease_id), said.into, reason=said.reason, actor=actor, now=now
            )
        )


class GrantHandler(HandDoor):
    """`POST grants`: open a lease for a server that runs without one."""

    async def post(self) -> None:
        """Open it."""
        said = self.body(GrantByHand)
        actor = self.caller.acting(said.by)
        await self.do(
            lambda core, now: core.adopt(said.wanted, reason=said.reason, actor=actor, now=now)
        )
