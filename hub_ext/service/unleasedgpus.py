"""Ends servers on Kubernetes that hold a GPU without a lease: after two looks, and with an event.

A governor that begins, a start under way, a lease that closes this moment: one look proves nothing.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Protocol

from ..errors import RefusedError, UnreachableError
from ..kube.leaseless import Holder, leaseless
from ..kube.podterms import place_of
from ..policy.model import Policy
from .governor import Governor
from .runner import CoreRunner

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
            When pods cannot be seen; then nothing is ended, and what was seen before stands.
        """
        policy = await self._core.run(lambda governor, _now: governor.known_policy)
        if policy is None:
            return
        found = await asyncio.gather(
            *(self._servers.holders(one) for one in namespaces(policy, self._single))
        )
        holders = [one for group in found for one in group]
        lost, now = await self._core.run(lambda governor, now: (_without(governor, holders), now))
        self._since = {one.uid: self._since.get(one.uid, now) for one in lost}
        for one in lost:
            if now - self._since[one.uid] >= APART:
                await self._end(one)

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
    """Name every namespace that servers of the policy's teams and projects are in, once."""
    places = [
        *(place_of(policy, rules.team, name, single) for name, rules in policy.projects.items()),
        *(place_of(policy, team, None, single) for team in policy.teams),
    ]
    return tuple(dict.fromkeys(place.namespace for place in places))


def _without(governor: Governor, holders: list[Holder]) -> tuple[Holder, ...]:
    leases = governor.leases()
    keys = [(str(lease.key.user), str(lease.key.server)) for lease in leases]
    return leaseless(holders, [str(lease.id) for lease in leases], keys)
