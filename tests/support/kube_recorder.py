"""Lets a real Kueue take the steps of many trees at once, and writes down what came of each."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hub_ext.kube import names
from hub_ext.kube.engine import Wanted
from hub_ext.kube.workloads import Workloads
from hub_ext.lease import LeaseId, PoolName
from tests.controlplane import queues
from tests.controlplane.plane import ControlPlane

from .kube_trees import FLAVOR, Json, Tree

QUIET_S = 3.5
"""Parked requests are woken 1 s after an end, and once more after 2 s in nested trees."""

_AT_ONCE = 16
_LIMIT_S = 120.0


@dataclass
class Recorder:
    """Trees on one Kueue, in one namespace, of one flavor."""

    plane: ControlPlane
    trees: list[Tree]
    namespace: str = ""
    began: int = 0
    bodies: dict[str, Json] = field(default_factory=dict)

    def set_up(self) -> None:
        """Make the flavor, the cohorts and the queues."""
        self.namespace = self.plane.namespace("trees")
        label = {names.FLAVOR_LABEL: self.namespace}
        made = [queues.flavor(self._flavor, **label)]
        for tree in self.trees:
            for one in tree.cohorts:
                above = self._own(tree, one["parent"]) if one["parent"] else ""
                groups = self._groups(one["quotas"][FLAVOR])
                made.append(
                    queues.cohort(self._own(tree, one["name"]), parent=above, groups=groups)
                )
            for one in tree.queues:
                name, groups = self._own(tree, one["name"]), self._groups(one["quotas"][FLAVOR])
                made.append(
                    queues.cluster_queue(name, groups, cohort=self._own(tree, one["cohort"]))
                )
                made.append(queues.local_queue(name, self.namespace, name))
        self.plane.api.apply(made)
        for tree in self.trees:
            for one in tree.queues:
                path = f"{queues.GROUP}/clusterqueues/{self._own(tree, one['name'])}"
                self.plane.api.wait(path, lambda found: queues.holds(found, "Active"))

    @property
    def _flavor(self) -> str:
        return names.flavor(self.namespace)

    def _own(self, tree: Tree, name: str) -> str:
        return f"{self.namespace}-{tree.id}-{name}"

    def _groups(self, quota: list[int | None]) -> list[Json]:
        words = ("nominalQuota", "borrowingLimit", "lendingLimit")
        figures = {
            word: str(units) for word, units in zip(words, quota, strict=True) if units is not None
        }
        flavor = {"name": self._flavor, "resources": [{"name": names.UNIT, **figures}]}
        return [{"coveredResources": [names.UNIT], "flavors": [flavor]}]

    async def record(self, steps: int) -> None:
        """Take so many steps in every tree, all trees at once."""
        client = Workloads.at(
            self.plane.kubeconfig, lambda: datetime.now(UTC), namespace=self.namespace
        )
        self.began = int(time.time())
        try:
            for _n in range(steps):
                await self._step(client)
        finally:
            for one in await client.all():
                if one.lease_id is not None:
                    await client.delete(one.lease_id)
            await client.close()

    async def _step(self, client: Workloads) -> None:
        door, start = asyncio.Semaphore(_AT_ONCE), int(time.time()) - self.began
        chosen = [(tree, tree.step()) for tree in self.trees]

        async def take(tree: Tree, do: Json) -> None:
            async with door:
                await self._take(client, tree, do)

        async with asyncio.TaskGroup() as group:
            for tree, do in chosen:
                group.create_task(take(tree, do))
        before, self.bodies = self.bodies, await asyncio.to_thread(self._settled)
        for tree, do in chosen:
            tree.steps.append({"t": start, "do": do, **self._seen(tree, before)})

    async def _take(self, client: Workloads, tree: Tree, do: Json) -> None:
        match do["op"]:
            case "create":
                queue, pool = self._own(tree, do["queue"]), PoolName(self.namespace)
                lease = LeaseId(f"{tree.id}-{do['name']}")
                await client.create(
                    Wanted(lease, self.namespace, queue, pool, {}, do["units"], do["priority"])
                )
            case "set_priority":
                assert await client.renumber(LeaseId(f"{tree.id}-{do['name']}"), do["priority"])
            case "delete":
                await client.delete(LeaseId(f"{tree.id}-{do['name']}"))
            case "set_quota":
                path = f"{queues.GROUP}/clusterqueues/{self._own(tree, do['queue'])}"
                spec = {"resourceGroups": self._groups(do["quota"])}
                await asyncio.to_thread(self.plane.api.patch, path, {"spec": spec})
            case unknown:
                raise ValueError(unknown)

    def _settled(self) -> dict[str, Json]:
        """Wait until nothing has changed for a while."""
        until = time.monotonic() + _LIMIT_S
        found, quiet_since = self._listed(), time.monotonic()
        while time.monotonic() - quiet_since < QUIET_S:
            assert time.monotonic() < until, "Kueue does not come to rest"
            time.sleep(0.4)
            again = self._listed()
            if again != found:
                found, quiet_since = again, time.monotonic()
        return found

    def _listed(self) -> dict[str, Json]:
        found = self.plane.api.items(queues.workloads_path(self.namespace))
        return {one["metadata"]["name"]: one for one in found}

    def _seen(self, tree: Tree, before: dict[str, Json]) -> Json:
        """One tree as a recording says it."""
        seen: Json = {"evicted": {}, "released": [], "admitted": {}, "holding": {}}
        pending: list[str] = []
        usage: dict[str, int] = {}
        for full, body in self.bodies.items():
            if not full.startswith(f"{tree.id}-"):
                continue
            name = full.removeprefix(f"{tree.id}-")
            tree.uids[name] = body["metadata"]["uid"]
            if not queues.holds(body, "QuotaReserved"):
                pending.append(name)
                continue
            evicted = queues.holds(body, "Evicted")
            at = _since(body, "QuotaReserved") - self.began
            seen["holding" if evicted else "admitted"][name] = [FLAVOR, at]
            if evicted and not (full in before and queues.holds(before[full], "Evicted")):
                seen["evicted"][name] = _condition(body, "Preempted")["reason"]
            queue = body["spec"]["queueName"].removeprefix(f"{self.namespace}-{tree.id}-")
            key = f"{queue}/{FLAVOR}"
            usage[key] = usage.get(key, 0) + _units(body)
        return {**seen, "pending": sorted(pending), "usage": usage}


def scenarios(trees: Iterable[Tree]) -> Json:
    """All that was recorded, as a file of the schema."""
    return {
        "schema": "kueue-real/1",
        "settings": {"kueue": "v0.17.0"},
        "scenarios": [tree.scenario() for tree in trees],
    }


def _condition(body: Json, kind: str) -> Json:
    found: Json = next(one for one in body["status"]["conditions"] if one["type"] == kind)
    return found


def _since(body: Json, kind: str) -> int:
    stamp = _condition(body, kind)["lastTransitionTime"]
    return int(datetime.fromisoformat(stamp).timestamp())


def _units(body: Json) -> int:
    used = body["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]
    return int(used[names.UNIT])
