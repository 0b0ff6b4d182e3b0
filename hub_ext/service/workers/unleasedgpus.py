"""Ends servers on Kubernetes that hold a GPU without a lease: after two looks, and with an event.

A governor that begins, a start under way, a lease that closes this moment: one look proves nothing.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Protocol

from ...errors import RefusedError, UnreachableError
from ...kube.leaseless import Holder
from ...kube.render.homes import homes
from ...kube.render.site import Site
from ...policy.model import Policy
from ..core.runner import CoreRunner

_LOG = logging.getLogger(__name__)

APART = timedelta(minutes=1)
"""So long a server has to be without a lease before it is ended."""


class Holders(Protocol):
    """Looks at servers, and ends one."""

    async def holders(self, namespace: str) -> tuple[Holder, ...]:
        """List servers that hold GPUs in a namespace."""

    async def end(self, one: Holder) -> None:
        """Ask one to end."""

    async def close(self) -> None:
        """Close the connections."""


class Leaseless:
    """Remembers since when a server has been seen without a lease."""

    def __init__(self, core: CoreRunner, servers: Holders, *, single: str | None = None) -> None:
        self._core = core
        self._servers = servers
        self._single = single
        self._since: dict[str, datetime] = {}

    async def look(self) -> None:
        """Look once at every namespace of the policy; end what was without a lease before too.

        Raises
        ------
        UnreachableError, RefusedError
            When servers of a namespace cannot be seen; the others were looked at.
        """
        policy = await self._core.run(lambda governor, _now: governor.known_policy)
        if policy is None:
            return
        holders: list[Holder] = []
        failed: list[BaseException] = []
        places = namespaces(policy, self._single)
        looks = (self._servers.holders(one) for one in places)
        for answer in await asyncio.gather(*looks, return_exceptions=True):
            if isinstance(answer, BaseException):
                failed.append(answer)
            else:
                holders += answer
        lost, now = await self._core.run(
            lambda governor, now: (
                governor.look_at_holders(holders, whole=not failed, now=now),
                now,
            )
        )
        self._since = {one.uid: self._since.get(one.uid, now) for one in lost}
        for one in lost:
            if now - self._since[one.uid] >= APART:
                await self._end(one)
        if failed:
            # One namespace that cannot be seen hides no other; but it is told.
            raise failed[0]

    async def _end(self, one: Holder) -> None:
        noted = await self._core.run(lambda governor, now: governor.note_leaseless(one, now=now))
        if not noted:
            return
        _LOG.warning(
            "Server %s/%s holds %s in pod %s/%s without a lease; it is ended",
            one.user,
            one.server,
            ", ".join(one.resources),
            one.namespace,
            one.name,
        )
        try:
            await self._servers.end(one)
        except (UnreachableError, RefusedError) as error:
            _LOG.warning("Pod %s/%s is not ended: %s", one.namespace, one.name, error)


def namespaces(policy: Policy, single: str | None) -> tuple[str, ...]:
    """Name every namespace that is rendered for servers, once; elsewhere we may look at nothing."""
    found = homes(policy, Site(namespace=single))
    return tuple(dict.fromkeys(home.namespace for home in found))
