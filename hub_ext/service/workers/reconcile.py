"""Compares leases with the hub's servers and this machine's processes, and tells the core.

It never ends a process and concludes nothing from a hub that does not answer.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ...errors import UnreachableError
from ...kube.standing import Places
from ...lease import NEEDS_PROOF, LeaseId, LeaseState, Liveness, OpenLease, ProcessRef, ServerKey
from ..basis import machine
from ..basis.hub import HubClient, HubServer
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..leasing.renaming import renamed
from ..leasing.strangers import Stranger

Probed = Mapping[LeaseId, Liveness]
Find = Callable[[str], Mapping[tuple[str, str], machine.FoundServer]]
FindProcess = Callable[[OpenLease], ProcessRef | None]


class Cluster(Protocol):
    """Looks at pods."""

    async def of(self, leases: Iterable[OpenLease], places: Places) -> Mapping[LeaseId, Liveness]:
        """Tell of each lease that has a pod; unknown where it cannot be looked at."""

    async def end(self, lease: OpenLease, places: Places) -> None:
        """Ask the pods of a lease to end, which the hub has forgotten."""

    def servers(self, leases: Iterable[OpenLease]) -> Mapping[tuple[str, str], LeaseId]:
        """Tell by namespace and name which lease each pod is of, as last read."""

    def machines(self, leases: Iterable[OpenLease]) -> Mapping[LeaseId, str]:
        """Tell on which machine the server of each lease runs, as last read."""


@dataclass(frozen=True)
class Comparison:
    """What one pass found. `strangers` are live servers without a lease that nobody can have."""

    alive: int
    closed: int
    forgotten: int
    strangers: tuple[ServerKey, ...]
    adopted: int = 0


class Reconciler:
    """One comparison after the other.

    Parameters
    ----------
    probe, find, find_process
        Look whether a lease's process lives, for servers by their environment, and for the process
        of a lease by its mark; run in a thread of their own.
    cluster
        Looks at the pods of leases, where servers are pods.
    """

    def __init__(
        self,
        core: CoreRunner,
        hub: HubClient,
        *,
        probe: Callable[[OpenLease], Liveness] = machine.probe,
        find: Find = machine.found_servers,
        find_process: FindProcess = machine.found_process,
        cluster: Cluster | None = None,
    ) -> None:
        self._core = core
        self._hub = hub
        self._probe = probe
        self._find = find
        self._find_process = find_process
        self._cluster = cluster

    async def compare(self) -> Comparison:
        """Compare once.

        The leases are read before the hub's servers: a lease that existed then, and whose server
        is not active afterwards, has lost it. The other way round, a start between the two looks
        would be taken for a loss.

        Raises
        ------
        UnreachableError
            When the hub does not answer; what this machine saw alive is noted all the same.
        """
        since = self._core.now()
        leases = await self._core.run(_needing_proof)
        probed = await asyncio.to_thread(self._probe_all, leases)
        places, blind = await self._core.run(_places), frozenset[LeaseId]()
        if self._cluster is not None:
            told = await self._cluster.of(leases, places)
            blind = frozenset(one for one, seen in told.items() if seen is Liveness.unknown)
            probed = {**probed, **told}
            servers, machines = self._cluster.servers(leases), self._cluster.machines(leases)
            await self._core.run(lambda core, _now: core.take_servers(servers, machines))
        try:
            active = {server.key: server for server in await self._hub.servers()}
        except UnreachableError:
            seen = (one for one in leases if probed[one.id] is Liveness.alive)
            await self._note_alive(seen, at=since)
            raise
        alive = [one for one in leases if lives(probed[one.id], active.get(one.key))]
        await self._note_alive(alive, at=since)
        await self._note_started(leases, active, at=since)
        closed = forgotten = 0
        for lease in leases:
            if lease.key in active or await self._hub.server(lease.key) is not None:
                continue
            if probed[lease.id] is not Liveness.gone and await self._follows(lease, active, leases):
                continue
            if probed[lease.id] is Liveness.alive:
                forgotten += await self._core.run(_forget(lease))
                if self._cluster is not None:
                    await self._cluster.end(lease, places)
            elif lease.id not in blind and proved_gone(lease, probed[lease.id]):
                closed += await self._core.run(_close(lease))
        ready = [server for server in active.values() if server.ready]
        unleased = await self._unleased(ready)
        strangers = await self._core.run(
            lambda core, now: core.strangers(unleased, since=since, now=now)
        )
        return Comparison(len(alive), closed, forgotten, strangers, len(unleased) - len(strangers))

    async def _note_started(
        self, leases: Iterable[OpenLease], active: Mapping[ServerKey, HubServer], *, at: datetime
    ) -> None:
        """Let a lease run whose server the hub serves, and whose report was lost with a hub."""
        for lease in leases:
            server = active.get(lease.key)
            if lease.state is LeaseState.starting and server is not None and server.ready:
                process = await asyncio.to_thread(self._find_process, lease)
                await self._core.run(_came_up(lease, process, server.started, at))

    async def _follows(
        self,
        lease: OpenLease,
        active: Mapping[ServerKey, HubServer],
        leases: Collection[OpenLease],
    ) -> bool:
        """Let a lease follow its owner's new name, where they were renamed."""
        key = renamed(lease, active.values(), {one.key for one in leases})
        if key is None or await self._hub.has_user(lease.key.user):
            return False
        return await self._core.run(lambda core, now: core.follow(lease.id, key, now=now))

    async def _unleased(self, servers: Collection[HubServer]) -> tuple[Stranger, ...]:
        """Servers without a lease, with what this machine knows of them."""
        groups = {server.key: server.groups for server in servers}
        keys = await self._core.run(lambda core, now: core.unleased(tuple(groups), now=now))
        if not keys:
            return ()
        found = await asyncio.to_thread(self._find, self._hub.api_url)
        return tuple(Stranger(key, groups[key], found.get((key.user, key.server))) for key in keys)

    def _probe_all(self, leases: Iterable[OpenLease]) -> Probed:
        return {lease.id: self._probe(lease) for lease in leases}

    async def _note_alive(self, leases: Iterable[OpenLease], *, at: datetime) -> None:
        """Note when they were looked at: this process may have slept since."""
        for lease in leases:
            await self._core.run(_note(lease.id, at))


def lives(seen: Liveness, server: HubServer | None) -> bool:
    """Whether a server is known to live: its process was seen, or the hub serves it.

    The hub's word counts where this machine cannot look; a pending start proves nothing yet.
    """
    if seen is Liveness.unknown:
        return server is not None and server.ready
    return seen is Liveness.alive


def proved_gone(lease: OpenLease, seen: Liveness) -> bool:
    """Whether a server that the hub does not have (any more) is proved to be gone.

    A pod is gone when the cluster says so, whatever the hub has forgotten. A process that was never
    reported and left no mark here was never made, or runs under a spawner on other machines, where
    the hub's word is all there is, and that no pod of it is where it should be. A known process
    that may not be looked at proves nothing.
    """
    if lease.grant is not None and lease.grant.pod is not None:
        return seen is Liveness.gone
    return seen is Liveness.gone or (seen is Liveness.unknown and lease.process is None)


def _needing_proof(core: Governor, _now: datetime) -> tuple[OpenLease, ...]:
    return tuple(lease for lease in core.leases() if lease.state in NEEDS_PROOF)


def _places(core: Governor, _now: datetime) -> Places:
    """Say where the pods of leases are that were granted none."""
    return core.unplaced()


def _note(lease_id: LeaseId, at: datetime) -> Callable[[Governor, datetime], None]:
    return lambda core, now: core.seen(lease_id, Liveness.alive, now=min(at, now))


def _came_up(
    lease: OpenLease, process: ProcessRef | None, began: datetime | None, at: datetime
) -> Callable[[Governor, datetime], bool]:
    return lambda core, now: core.came_up(lease.id, process, began=began, at=min(at, now), now=now)


def _close(lease: OpenLease) -> Callable[[Governor, datetime], bool]:
    def act(core: Governor, now: datetime) -> bool:
        present = core.lease(lease.id)
        if present is None or not present.open:
            return False
        core.close_lost(lease.id, now=now)
        return True

    return act


def _forget(lease: OpenLease) -> Callable[[Governor, datetime], bool]:
    process = lease.process or machine.found_process(lease)
    return lambda core, now: core.forget(lease.id, process, now=now)
