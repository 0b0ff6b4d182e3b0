"""A small Kueue behind a small API server: Workloads over real HTTP, admitted as Kueue would.

Its decisions are the engine's that agrees with Kueue; what it adds is what Kueue does with the
objects: an evicted one keeps its quota until it is deleted, a deactivated one loses it at once.
"""

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from hub_ext.admission.engine import Cohort, Cycle, Queue, State, Victim, Workload, settle
from hub_ext.admission.tree import UNIT

from .kube_http import Faults, Shelf, routes

Body = dict[str, Any]
TOKEN = "k" * 40


@dataclass
class Kept:
    """One Workload as Kueue knows it."""

    body: Body
    order: int
    usage: Mapping[tuple[str, str], int] | None = None
    evicted: bool = False

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def active(self) -> bool:
        return self.body["spec"].get("active", True) is not False

    def stands(self, kind: str) -> bool:
        return any(
            one["type"] == kind and one["status"] == "True" for one in _conditions(self.body)
        )


@dataclass
class FakeKueue:
    """One cluster. `local` maps namespace and LocalQueue to the ClusterQueue behind it."""

    cohorts: tuple[Cohort, ...]
    queues: tuple[Queue, ...]
    local: dict[tuple[str, str], str]
    selectors: dict[str, str] = field(default_factory=dict)
    """Pool label of a Workload's node selector to the flavor that it names."""
    waits_for_pods: bool = False
    """Whether each admission waits until all that are admitted report that they are up."""
    faults: Faults = field(default_factory=Faults)
    shelf: Shelf = field(default_factory=Shelf)
    kept: dict[str, Kept] = field(default_factory=dict)
    parked: frozenset[str] = frozenset()
    preemptors: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    _order: "itertools.count[int]" = field(default_factory=itertools.count)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["FakeKueue"]:
        """Serve on a free port of loopback."""
        runner = web.AppRunner(web.Application(), shutdown_timeout=0.1)
        runner.app.add_routes(routes(self))
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield self
        finally:
            self.shelf.close()
            await runner.cleanup()

    def kubeconfig(self, directory: Path) -> Path:
        """Write the file by which a client finds us."""
        path = directory / "kubeconfig"
        named: Body = {"clusters": [{"name": "c", "cluster": {"server": self.url}}]}
        named |= {"users": [{"name": "u", "user": {"token": TOKEN}}]}
        named |= {"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}
        path.write_text(json.dumps({"apiVersion": "v1", "current-context": "c", **named}))
        return path

    def body(self, name: str) -> Body:
        """One Workload as the API shows it, by its name."""
        return next(o.body for o in self.kept.values() if o.body["metadata"]["name"] == name)

    def holding(self) -> set[str]:
        """Names of those whose units count now."""
        counted = (one for one in self.kept.values() if one.usage and self._counts(one))
        return {one.body["metadata"]["name"] for one in counted}

    def create(self, namespace: str, body: Body) -> Body:
        """Somebody creates a Workload, the governor or another."""
        order = next(self._order)
        made = deepcopy(body)
        made["metadata"] |= {
            "namespace": namespace,
            "uid": f"uid-{order:06}",
            "creationTimestamp": _now(),
        }
        made.setdefault("status", {})
        self.kept[f"uid-{order:06}"] = Kept(made, order)
        self.shelf.put("ADDED", made)
        self._settle()
        return deepcopy(made)

    def change(self, body: Body, patch: Body) -> Body:
        """Somebody patches one: its number, whether it is active, conditions of its status."""
        one = self.kept[body["metadata"]["uid"]]
        spec, status = patch.get("spec", {}), patch.get("status", {})
        was_active = one.active
        one.body["spec"] |= spec
        for condition in status.get("conditions", []):
            _stand(one.body, condition)
        if "priority" in spec and one.usage is None:
            self.parked -= {one.uid}
        if not one.active and was_active:
            self._evict(one, "Deactivated", "The workload is deactivated")
        one.evicted = one.evicted and one.stands("Evicted")
        self.shelf.put("MODIFIED", one.body)
        self._released() if was_active and not self._counts(one) else self._settle()
        return deepcopy(one.body)

    def delete(self, body: Body) -> None:
        """Somebody deletes one."""
        one = self.kept.pop(body["metadata"]["uid"])
        self.preemptors = {q: uid for q, uid in self.preemptors.items() if uid != one.uid}
        self.shelf.put("DELETED", one.body)
        self._released()

    def evict(self, name: str, reason: str) -> None:
        """Kueue evicts one for another cause than a preemption."""
        one = self.kept[self.body(name)["metadata"]["uid"]]
        self._evict(one, reason, f"evicted: {reason}")
        self.shelf.put("MODIFIED", one.body)

    def wakes(self) -> None:
        """Something changes in the tree: whatever is parked is tried again."""
        self._released()

    def _released(self) -> None:
        # Who has called in comes first; all others are tried after that.
        self._settle()
        self.parked = frozenset()
        self._settle()

    def _counts(self, one: Kept) -> bool:
        return one.active and not one.stands("Finished")

    def _queue(self, one: Kept) -> str | None:
        meta, spec = one.body["metadata"], one.body["spec"]
        return self.local.get((meta["namespace"], spec.get("queueName", "")))

    def _settle(self) -> None:
        asked = [self._workload(one) for one in self.kept.values() if self._counts(one)]
        state = State(
            self.cohorts,
            self.queues,
            tuple(one for one in asked if one is not None),
            self.parked & self.kept.keys(),
            self.preemptors,
        )
        after, done = settle(state, fits=self._fits() if self.waits_for_pods else None)
        self.parked, self.preemptors = after.parked, after.preemptors
        self._show(done)

    def _workload(self, one: Kept) -> Workload | None:
        queue = self._queue(one)
        if queue is None:
            message = f"LocalQueue {one.body['spec'].get('queueName')} doesn't exist"
            self._pending(one, "Inadmissible", message)
            return None
        pod = one.body["spec"]["podSets"][0]["template"]["spec"]
        flavor = self.selectors.get(pod.get("nodeSelector", {}).get("gpu-commons.dev/pool", ""))
        return Workload(
            id=one.uid,
            queue=queue,
            priority=one.body["spec"].get("priority", 0),
            queued_at=one.order,
            uid=one.uid,
            requests={UNIT: int(pod["containers"][0]["resources"]["requests"][UNIT])},
            flavors=frozenset({flavor}) if flavor else None,
            usage=one.usage,
            reserved_at=one.order,
            evicted=one.evicted,
        )

    def _fits(self) -> Any:
        waits = [
            one
            for one in self.kept.values()
            if one.usage and self._counts(one) and not one.stands("PodsReady")
        ]

        def fits(_workload: Workload, _assignment: object) -> bool:
            waits.append(Kept({}, 0))
            return len(waits) == 1

        return fits

    def _show(self, done: Cycle) -> None:
        """Write what was decided to the objects."""
        for admission in done.admitted:
            self._admit(self.kept[admission.id], admission.usage)
        for victim in done.victims:
            self._preempt(victim)
        for uid, why in done.pending.items():
            self._pending(self.kept[uid], "Pending", why.message)

    def _admit(self, one: Kept, usage: Mapping[tuple[str, str], int]) -> None:
        one.usage = usage
        (flavor, resource), units = next(iter(usage.items()))
        one.body["status"]["admission"] = {
            "clusterQueue": self._queue(one),
            "podSetAssignments": [
                {
                    "name": "main",
                    "count": 1,
                    "flavors": {resource: flavor},
                    "resourceUsage": {resource: str(units)},
                }
            ],
        }
        for kind in ("QuotaReserved", "Admitted"):
            _stand(one.body, _condition(kind, "True", kind, f"{kind} in {self._queue(one)}"))
        if one.stands("Evicted"):
            _stand(one.body, _condition("Evicted", "False", "QuotaReserved", "admitted again"))
        self.shelf.put("MODIFIED", one.body)

    def _preempt(self, victim: Victim) -> None:
        one = self.kept[victim.id]
        words = f"Preempted to accommodate a workload (UID: {victim.for_id})"
        self._evict(one, "Preempted", words)
        _stand(one.body, _condition("Preempted", "True", victim.reason, words))
        self.shelf.put("MODIFIED", one.body)

    def _evict(self, one: Kept, reason: str, message: str) -> None:
        one.evicted = one.usage is not None
        _stand(one.body, _condition("Evicted", "True", reason, message))

    def _pending(self, one: Kept, reason: str, message: str) -> None:
        if _stand(one.body, _condition("QuotaReserved", "False", reason, message)):
            self.shelf.put("MODIFIED", one.body)


def _conditions(body: Body) -> list[Body]:
    found: list[Body] = body["status"].setdefault("conditions", [])
    return found


def _stand(body: Body, condition: Body) -> bool:
    """Set a condition; tells whether anything but its time has changed."""
    known = _conditions(body)
    before = next((one for one in known if one["type"] == condition["type"]), {})
    if all(before.get(key) == condition[key] for key in ("status", "reason", "message")):
        return False
    body["status"]["conditions"] = [one for one in known if one is not before] + [condition]
    return True


def _condition(kind: str, status: str, reason: str, message: str) -> Body:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": _now(),
    }


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
