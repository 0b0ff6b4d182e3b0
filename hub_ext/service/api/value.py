"""What people say of their leases: asked for and told. Free text is for the team alone."""

from datetime import datetime
from functools import partial

from ...i18n import _
from ...lease import LeaseId, OpenLease
from ...lease.value import LeaseValue, ValueWish
from ...policy.model import Policy
from ..basis.access import Caller
from ..basis.refusals import not_yours
from ..core.governor import Governor
from .leases import LeaseDoor, visible


def in_team(caller: Caller, lease: OpenLease, policy: Policy | None) -> bool:
    """Whether free text is for this caller: the owner, their server, and leads of the team.

    An administrator who is none of these gets figures.
    """
    if caller.kind == "server":
        return lease.key in caller.servers
    own = caller.kind == "person" and lease.key.user == caller.name
    return own or lease.team in caller.leads(policy)


def told_of(caller: Caller, lease_id: LeaseId, core: Governor, now: datetime) -> LeaseValue:
    """Tell a caller what was said of a lease that they may see."""
    lease = visible(caller, core, lease_id)
    return core.value_of(lease.id, in_team=in_team(caller, lease, core.known_policy), now=now)


class ValueHandler(LeaseDoor):
    """`GET` and `POST leases/{lease_id}/value`: what a lease was for, and what came of it."""

    act = _("see or say what leases are for")

    async def get(self, lease_id: str) -> None:
        """Tell it."""
        self.answer(await self.core.run(partial(told_of, self.caller, LeaseId(lease_id))))

    async def post(self, lease_id: str) -> None:
        """Record what the owner says; an end is no hindrance."""
        caller, wish = self.caller, self.body(ValueWish)

        def act(core: Governor, now: datetime) -> LeaseValue:
            lease = visible(caller, core, lease_id)
            if not caller.owns(lease.key):
                raise not_yours()
            core.say(lease.id, wish, actor=caller.actor, now=now)
            return told_of(caller, lease.id, core, now)

        self.answer(await self.core.run(act))
