"""A governor that leaves admission to Kueue: a real ledger, the real client, a Kueue that behaves.

The story moves the governor's clock; what goes on between governor and Kueue takes its own time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.admission.engine import Cohort, Group, Preemption, Queue, Quota
from hub_ext.admission.levels import pool_nodes
from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.kube import names
from hub_ext.kube.podterms import place_of
from hub_ext.kube.workloads import Workloads
from hub_ext.lease import (
    GOVERNOR,
    Ask,
    Environment,
    Event,
    Grant,
    LeaseId,
    LeaseState,
    OpenLease,
    Posting,
    When,
)
from hub_ext.ledger.verify import verify
from hub_ext.policy.capacity import capacity
from hub_ext.policy.model import Policy
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.workers.asking import answer
from hub_ext.service.workers.kueuework import KueueWork

from .fake_kueue import Body, FakeKueue
from .governing import POLICY, START, Site, site_in

LIMIT_S = 20.0


def kueue_of(policy: Policy) -> FakeKueue:
    """Make the Kueue that a policy describes: a queue for each team, pools as flavors."""
    root: dict[tuple[str, str], Quota] = {}
    quotas: dict[str, dict[tuple[str, str], Quota]] = {team: {} for team in policy.teams}
    for pool, rules in policy.pools.items():
        pair = (names.flavor(pool), names.UNIT)
        nodes = pool_nodes(policy, pool)
        given = sum(node.nominal for node in nodes.values())
        root[pair] = Quota(max(0, capacity(rules).units - given))
        for team in policy.teams:
            node = nodes.get(team)
            if node is not None:
                quotas[team][pair] = Quota(node.nominal, node.borrowing_limit, node.lending_limit)
    local = {}
    for team in policy.teams:
        projects = [name for name, one in policy.projects.items() if one.team == team]
        for project in (None, *projects):
            place = place_of(policy, team, project)
            local[place.namespace, place.local_queue] = f"gc-{team}"
    return FakeKueue(
        cohorts=(Cohort(names.SITE_COHORT, None, root),),
        queues=tuple(
            Queue(
                f"gc-{team}",
                names.SITE_COHORT,
                (Group((names.UNIT,), tuple(flavor for flavor, _unit in quotas[team])),),
                quotas[team],
                Preemption(reclaim="LowerPriority"),
            )
            for team in policy.teams
        ),
        local=local,
        selectors={pool: names.flavor(pool) for pool in policy.pools},
    )


class _NoPins:
    """No environment of the stories is pinned."""

    def check(self, environment: Environment) -> None:
        """Find nothing wrong."""

    def located(self, environment: Environment) -> Environment:
        """Give it as it is."""
        return environment


@dataclass
class Cluster:
    """One site on one Kueue."""

    site: Site
    kueue: FakeKueue
    kubeconfig: Path
    waiting: set["asyncio.Task[Any]"] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.stopped = False
        self._begin()

    def _begin(self) -> None:
        self.core = CoreRunner(self.site.governor, lambda: self.site.now, Stream(8))
        self.client = Workloads.at(self.kubeconfig, lambda: self.site.now)
        self.work = KueueWork(self.core, self.client, pause_s=0.05)
        self._loops = [asyncio.create_task(self._turn()), asyncio.create_task(self._watch())]

    async def _turn(self) -> None:
        """Do what the governor's loops do, over and over."""
        while True:
            with suppress(UnreachableError):
                await self.work.begin()
                await self.work.settle()
            await self.core.run(lambda core, now: core.serve_queue(now=now))
            await self.core.run(lambda core, now: core.review_calls(now=now))
            await asyncio.sleep(0.01)

    async def _watch(self) -> None:
        while True:
            with suppress(UnreachableError):
                await self.work.watch()
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        """Let the governor's process end, whatever is under way."""
        for task in self._loops:
            task.cancel()
        self.work.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self.work.settle()
        await self.client.close()

    async def restart(self, *, running: bool = True) -> None:
        """End the governor, where it still runs, and start another on the same ledger."""
        if running:
            await self.stop()
        self.site.restart()
        self._begin()

    async def until(self, holds: Callable[[], object], what: str = "") -> None:
        """Wait until something holds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + LIMIT_S
        while not await self.core.run(lambda _core, _now: holds()):
            for task in self._loops:
                if task.done():
                    task.result()
            if loop.time() >= end:
                words = await self.core.run(lambda _core, _now: self.standing())
                pytest.fail(f"never: {what} {words}")
            await asyncio.sleep(0.01)

    async def still(self, holds: Callable[[], object], seconds: float = 0.3) -> None:
        """Show that something goes on to hold for a while."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while loop.time() < end:
            assert await self.core.run(lambda _core, _now: holds())
            await asyncio.sleep(0.02)

    async def ask(self, asked: Ask) -> Grant:
        """Ask as a spawner does."""
        return await answer(self.core, _NoPins(), asked)

    async def run(self, user: str, profile: str = "one") -> Grant:
        """Ask and start."""
        grant = await self.ask(self.site.asking(user, profile))
        await self.core.run(lambda _core, _now: self.site.started(grant))
        return grant

    async def end(self, grant: Grant) -> None:
        """Let the server of a grant end, and its end be reported."""
        await self.core.run(lambda _core, _now: self.site.stop(grant))

    async def later(self, seconds: float) -> None:
        """Let time pass."""
        await self.core.run(lambda _core, _now: self.site.later(seconds))

    async def lease(self, lease_id: LeaseId) -> OpenLease:
        """Read a lease as it stands."""
        found = await self.core.run(lambda core, _now: core.lease(lease_id))
        assert found is not None
        return found

    async def waits(
        self, user: str, profile: str = "one", *, server: str = "", when: When = When.start
    ) -> OpenLease:
        """Ask for what cannot start now, and let it wait."""
        asked = self.site.asking(user, profile, server=server, when=when)
        with suppress(RefusedError):
            await self.ask(asked)
        found = await self.core.run(lambda core, now: core.view(asked.key, now=now).lease)
        assert found is not None
        return found

    async def cancel(self, lease: OpenLease) -> None:
        """Take a request out of the queue."""
        await self.core.run(lambda core, now: core.cancel(lease.id, actor=GOVERNOR, now=now))

    async def faults(self) -> tuple[str, ...]:
        """What administrators are told about Kueue."""
        return await self.core.run(lambda _core, _now: self.wrong())

    async def events(self, lease_id: LeaseId | None, kind: str) -> list[Event]:
        """Events of a kind, of one lease or of none."""

        def read(_core: object, _now: object) -> list[Event]:
            with self.site.ledger.transaction() as tx:
                return [one for _seq, one in tx.events(lease_id=lease_id, kinds=[kind])]

        return await self.core.run(read)

    async def postings(self, lease_id: LeaseId) -> list[Posting]:
        """What a lease was charged."""

        def read(_core: object, now: datetime) -> list[Posting]:
            with self.site.ledger.transaction() as tx:
                found = tx.postings(start=START, end=now + timedelta(days=1))
                return [one for one in found if one.lease_id == lease_id]

        return await self.core.run(read)

    async def leases(self) -> tuple[OpenLease, ...]:
        """All open leases."""
        return await self.core.run(lambda core, _now: core.leases())

    # What follows is for conditions of `until`, which look in the core's own thread.

    def state(self, lease_id: LeaseId) -> LeaseState:
        """State of a lease."""
        found = self.site.governor.lease(lease_id)
        assert found is not None
        return found.state

    def intended(self, lease_id: LeaseId) -> list[str]:
        """Kinds of open intents of a lease."""
        intents = self.site.governor.intents()
        return [one.kind for one in intents if one.lease_id == lease_id]

    def away(self) -> bool:
        """Whether the governor knows that Kueue is away."""
        return self.site.governor.kueue_away

    def wrong(self) -> tuple[str, ...]:
        """What administrators are told about Kueue, as `faults`."""
        return self.site.governor.problems(now=self.site.now)["kueue"]

    def knows(self, name: str) -> bool:
        """Whether the governor has seen a Workload that is none of its leases."""
        return any(one.name == name for one in self.site.governor.kueue_foreign)

    def stands(self, name: str, kind: str) -> bool:
        """Whether a condition of a Workload is true."""
        return any(
            one["type"] == kind and one["status"] == "True"
            for body in self.named(name)
            for one in body.get("status", {}).get("conditions", [])
        )

    def is_out(self, name: str) -> bool:
        """Whether a Workload is taken out of its queue."""
        return any(one["spec"].get("active", True) is False for one in self.named(name))

    def uid(self, name: str) -> str | None:
        """Uid of a Workload; None where there is none."""
        return next((str(one["metadata"]["uid"]) for one in self.named(name)), None)

    def number(self, name: str) -> int:
        """Priority number of a Workload; -1 where there is none."""
        return next((int(one["spec"]["priority"]) for one in self.named(name)), -1)

    def namespaces(self, name: str) -> list[str]:
        """Namespaces in which there is a Workload of a name."""
        return [str(one["metadata"]["namespace"]) for one in self.named(name)]

    def units(self, name: str) -> int:
        """Units that a Workload asks for; -1 where there is none."""
        parts = [one["spec"]["podSets"][0]["template"]["spec"] for one in self.named(name)]
        asked = (one["containers"][0]["resources"]["requests"][names.UNIT] for one in parts)
        return next((int(one) for one in asked), -1)

    def there(self) -> set[str]:
        """Names of all Workloads."""
        return {one["metadata"]["name"] for one in self.bodies()}

    def bodies(self) -> list[Body]:
        """All Workloads as the API shows them."""
        return [one.body for one in self.kueue.kept.values()]

    def named(self, name: str) -> list[Body]:
        """The Workload of a name, where there is one."""
        return [one for one in self.bodies() if one["metadata"]["name"] == name]

    def standing(self) -> str:
        """Say how all leases and Workloads stand, for a story that fails."""
        leases = [(one.id, one.state.value) for one in self.site.governor.leases()]
        kept = [
            (one["metadata"]["name"], one["spec"], one["status"].get("conditions"))
            for one in self.bodies()
        ]
        return f"{leases} {kept} {self.site.governor.intents()}"


@contextmanager
def site_and_ledger(directory: Path, policy: str = POLICY) -> Iterator[Site]:
    """Open a site on Kubernetes; at its end its ledger agrees with its events."""
    with site_in(directory / "state", policy=policy, engine="kueue") as site:
        yield site
    assert verify(directory / "state" / "ledger.sqlite").difference == ""


@asynccontextmanager
async def cluster_in(directory: Path, policy: str = POLICY) -> AsyncIterator[Cluster]:
    """Open one on a Kueue of its own."""
    with site_and_ledger(directory, policy) as site:
        async with kueue_of(site.governor.policy).serving() as kueue:
            cluster = Cluster(site, kueue, kueue.kubeconfig(directory))
            try:
                yield cluster
            finally:
                await cluster.stop()


Story = Callable[[Cluster], Awaitable[None]]


def told(story: Story) -> Callable[[Path], None]:
    """Make a test of a story on a cluster of its own."""

    def test(tmp_path: Path) -> None:
        async def whole() -> None:
            async with cluster_in(tmp_path) as cluster:
                await asyncio.wait_for(story(cluster), 60)

        asyncio.run(whole())

    return test
