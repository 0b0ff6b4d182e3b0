"""Leases: seen by their owner, lead or an admin; stopped, extended and kept by those who may.

Whoever may not know of a lease hears the same as where there is none.
"""

import asyncio
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from ...i18n import _
from ...lease import (
    Cause,
    LeaseId,
    LeaseView,
    OpenLease,
    ServerKey,
    ServerName,
    UserName,
    Value,
)
from ..basis.access import Caller
from ..basis.refusals import lease_over, no_such_lease, not_yours
from ..basis.words import stop_reason
from ..core.governor import Governor
from ..http.web import BaseHandler
from .queries import whole_number

DEFAULT_SERVER = "-"
"""How the server without a name is written in a path."""


UNWATCHED_WAIT_S = 25
"""The Lab extension asks in shorter turns than this while a page of it is open."""


class Extension(Value):
    """`POST leases/{lease_id}/extend`: by how many seconds."""

    seconds: Annotated[int, Field(gt=0, le=366 * 86400, strict=True)]


class LeaseList(Value):
    """`GET leases`: open leases that the caller may see, oldest first."""

    leases: tuple[OpenLease, ...]


def visible(caller: Caller, core: Governor, lease_id: str) -> OpenLease:
    """Find a lease that the caller may see.

    Raises
    ------
    RefusedError
        404, the same for none and for one that is hidden.
    """
    lease = core.lease(LeaseId(lease_id))
    if lease is None or not caller.sees(lease, core.known_policy):
        raise no_such_lease()
    return lease


def own(caller: Caller, core: Governor, lease_id: str) -> OpenLease:
    """Find an open lease that the caller may act on.

    Raises
    ------
    RefusedError
        404 as `visible`; 403 where it may be seen and no more; 409 where it has ended.
    """
    lease = visible(caller, core, lease_id)
    if not caller.owns(lease.key):
        raise not_yours()
    if not lease.open:
        raise lease_over(lease)
    return lease


def shown_to(caller: Caller, view: LeaseView) -> LeaseView:
    """Take from a view the acts that the caller has no right to."""
    if caller.owns(view.server):
        return view
    return view.model_copy(update={"can_stop": False, "extend_max_s": 0})


class LeaseDoor(BaseHandler):
    """What all routes on leases share: people and servers come here, services do not."""

    kinds = frozenset({"person", "server"})
    act = _("see or change leases")


class LeasesHandler(LeaseDoor):
    """`GET leases`: all open leases that the caller may see."""

    async def get(self) -> None:
        """List them."""
        caller = self.caller

        def act(core: Governor, _now: datetime) -> LeaseList:
            policy = core.known_policy
            return LeaseList(leases=tuple(x for x in core.leases() if caller.sees(x, policy)))

        self.answer(await self.core.run(act))


class LeaseHandler(LeaseDoor):
    """`GET leases/{lease_id}`: one lease, open or closed."""

    async def get(self, lease_id: str) -> None:
        """Show it."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> LeaseView:
            lease = visible(caller, core, lease_id)
            return shown_to(caller, core.view_of(lease.id, now=now))

        self.answer(await self.core.run(act))


class StopHandler(LeaseDoor):
    """`POST leases/{lease_id}/stop`: ask for the stop of its server."""

    async def post(self, lease_id: str) -> None:
        """Record the wish; the hub is asked right after."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> LeaseView:
            lease = own(caller, core, lease_id)
            for_another = caller.kind != "server" and lease.key.user != caller.name
            cause = Cause.admin if for_another else Cause.user
            reason = stop_reason(cause, caller.actor)
            core.ask_stop(lease.id, cause=cause, reason=reason, actor=caller.actor, now=now)
            return core.view_of(lease.id, now=now)

        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)


class ExtendHandler(LeaseDoor):
    """`POST leases/{lease_id}/extend`: let it live longer, within its limits."""

    async def post(self, lease_id: str) -> None:
        """Move its end."""
        caller, seconds = self.caller, self.body(Extension).seconds

        def act(core: Governor, now: datetime) -> LeaseView:
            lease = own(caller, core, lease_id)
            core.extend(lease.id, seconds=seconds, actor=caller.actor, now=now)
            return core.view_of(lease.id, now=now)

        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)


class KeepHandler(LeaseDoor):
    """`POST leases/{lease_id}/keep`: hold off the idle rule once."""

    async def post(self, lease_id: str) -> None:
        """Keep it for as long as the policy lets one "keep" do."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> LeaseView:
            lease = own(caller, core, lease_id)
            core.keep(lease.id, actor=caller.actor, now=now)
            return core.view_of(lease.id, now=now)

        self.answer(await self.core.run(act), HTTPStatus.ACCEPTED)


class ServerLeaseHandler(LeaseDoor):
    """`GET servers/{user}/{server}/lease`: a server's lease, at once or at the next news."""

    _gone = False
    _news: asyncio.Event | None = None

    async def get(self, user: str, server: str) -> None:
        """Answer at once where the newest event is not `after`; else hold for `wait_s`."""
        name = "" if server == DEFAULT_SERVER else server
        key = ServerKey(
            hub=self.governor_settings.hub, user=UserName(user), server=ServerName(name)
        )
        after = whole_number(self, "after")
        wait_s = min(whole_number(self, "wait_s") or 0, self.governor_settings.longest_poll_s)
        view = await self._read(key)
        watched = self.caller.kind == "server" and 0 < wait_s < UNWATCHED_WAIT_S
        if watched and view.lease is not None and view.lease.autostarted:
            await self.core.run(lambda core, now: core.visited(key, now=now))
        if after is not None and view.seq == after and wait_s:
            view = await self._wait(key, after, wait_s)
        if not self._gone:
            self.answer(shown_to(self.caller, view))

    async def _wait(self, key: ServerKey, after: int, wait_s: float) -> LeaseView:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        with self.core.stream.waiter(key) as self._news:
            while True:
                self._news.clear()
                view = await self._read(key)
                left_s = until - loop.time()
                over = left_s <= 0 or self._gone or self.core.stream.closed
                if view.seq != after or over:
                    return view
                try:
                    await asyncio.wait_for(self._news.wait(), left_s)
                except TimeoutError:
                    continue

    async def _read(self, key: ServerKey) -> LeaseView:
        caller = self.caller

        def act(core: Governor, now: datetime) -> LeaseView:
            view = core.view(key, now=now)
            lease = view.lease or view.ended
            # A lead sees servers that hold a lease of the team, and no others.
            if not caller.owns(key) and (
                lease is None or not caller.sees(lease, core.known_policy)
            ):
                raise no_such_lease()
            return view

        return await self.core.run(act)

    def on_connection_close(self) -> None:
        """Stop waiting for somebody who is gone."""
        self._gone = True
        if self._news is not None:
            self._news.set()
