"""Requests that wait: taken out, or changed, by their owner or an admin."""

import asyncio
from datetime import datetime
from http import HTTPStatus

from ...lease import (
    Ask,
    Choice,
    Environment,
    LeaseId,
    LeaseView,
    OpenLease,
    SwitchSheet,
    Value,
    When,
)
from ...policy.catalogue import Person
from ..basis.access import Caller
from ..basis.refusals import not_yours
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..leasing.changing import sheet
from ..workers.asking import PinChecks
from .leases import LeaseDoor, own, visible


class Wish(Value):
    """`POST leases/{lease_id}/change`: what to wait for instead, and what happens then."""

    choice: Choice
    when: When


class CancelHandler(LeaseDoor):
    """`POST leases/{lease_id}/cancel`: leave the queue."""

    async def post(self, lease_id: str) -> None:
        """Take it out; what was held is free at once."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> LeaseView:
            lease = own(caller, core, lease_id)
            core.cancel(lease.id, actor=caller.actor, now=now)
            return core.view_of(lease.id, now=now)

        self.answer(await self.core.run(act))


class Again(Value):
    """`POST leases/{lease_id}/again`: what happens when the turn comes."""

    when: When = When.start


def asked_again(
    caller: Caller, core: Governor, lease_id: LeaseId, when: When, now: datetime
) -> OpenLease:
    """Let a lease that was called in wait again, for its owner or an admin.

    Raises
    ------
    RefusedError
        404 or 403 where the caller has no right to it; 409 where it cannot.
    """
    lease = visible(caller, core, lease_id)
    if not caller.owns(lease.key):
        raise not_yours()
    return core.ask_again(
        lease.id, when, groups=_groups(caller, lease), actor=caller.actor, now=now
    )


class AgainHandler(LeaseDoor):
    """`POST leases/{lease_id}/again`: wait again, in the old place, after it was called in."""

    async def post(self, lease_id: str) -> None:
        """Let it wait; the answer shows the request."""
        caller, wish = self.caller, self.body(Again)

        def act(core: Governor, now: datetime) -> LeaseView:
            fresh = asked_again(caller, core, LeaseId(lease_id), wish.when, now)
            return core.view_of(fresh.id, now=now)

        self.answer(await self.core.run(act))


class Switch(Value):
    """`POST leases/{lease_id}/switch`: the profile that the server shall have instead."""

    choice: Choice


async def switched(
    core: CoreRunner, pins: PinChecks, caller: Caller, lease_id: LeaseId, choice: Choice
) -> OpenLease:
    """Let a server that runs get another profile, whose environment is looked at before.

    Raises
    ------
    RefusedError
        404 or 403 where the caller has no right to it; 409 where it cannot be.
    """

    def first(governor: Governor, now: datetime) -> Environment | None:
        lease = own(caller, governor, lease_id)
        asked = Ask(
            attempt_id="switch-0", key=lease.key, groups=_groups(caller, lease), choice=choice
        )
        return governor.environment_of(asked, now=now)

    environment = await core.run(first)
    if environment is not None:
        await asyncio.to_thread(pins.check, environment)

    def act(governor: Governor, now: datetime) -> OpenLease:
        lease = own(caller, governor, lease_id)
        return governor.switch(
            lease.id, choice, groups=_groups(caller, lease), actor=caller.actor, now=now
        )

    return await core.run(act)


def choices(
    caller: Caller, core: Governor, lease_id: str, now: datetime
) -> tuple[OpenLease, SwitchSheet]:
    """List what a server could have instead, for its owner or an admin.

    Raises
    ------
    RefusedError
        404, 403 or 409, as `own`.
    """
    lease = own(caller, core, lease_id)
    person = Person(user=lease.key.user, groups=_groups(caller, lease))
    return lease, sheet(lease, core.offers(person, now=now))


def _groups(caller: Caller, lease: OpenLease) -> tuple[str, ...]:
    """Groups of the owner: as the hub says now, or as known from the request."""
    herself = caller.kind == "person" and caller.name == lease.key.user
    return caller.groups if herself else lease.groups


class SwitchHandler(LeaseDoor):
    """`leases/{lease_id}/switch`: another profile for a server that runs, as one act."""

    async def get(self, lease_id: str) -> None:
        """List what it could have instead, each with what that would mean now."""
        caller = self.caller
        self.answer(await self.core.run(lambda core, now: choices(caller, core, lease_id, now)[1]))

    async def post(self, lease_id: str) -> None:
        """Let it wait for the new capacity; the answer shows the request."""
        wish = self.body(Switch)
        fresh = await switched(
            self.core, self.settings["pins"], self.caller, LeaseId(lease_id), wish.choice
        )
        view = await self.core.run(lambda core, now: core.view_of(fresh.id, now=now))
        self.answer(view, HTTPStatus.ACCEPTED)


class ChangeHandler(LeaseDoor):
    """`POST leases/{lease_id}/change`: wait for something else."""

    async def post(self, lease_id: str) -> None:
        """Change the wish; the answer shows the request that waits now."""
        caller, wish = self.caller, self.body(Wish)

        def act(core: Governor, now: datetime) -> LeaseView:
            lease = own(caller, core, lease_id)
            changed = core.change(lease.id, wish.choice, wish.when, actor=caller.actor, now=now)
            return core.view_of(changed.id, now=now)

        self.answer(await self.core.run(act))
