"""One scenario on a real Kueue: queues of its own, leases through the product's own client.

Every scene has a namespace, a flavor and a tree of its own, so that all share one Kueue.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hub_ext.admission.engine.values import Within
from hub_ext.kube import names
from hub_ext.kube.engine import Phase, Seen, Wanted
from hub_ext.kube.workloads import Workloads
from hub_ext.lease import LeaseId, PoolName
from tests.controlplane import queues
from tests.controlplane.plane import ControlPlane

RUNNING, WAITING, CALLED_IN = 2000, 1000, 0
"""Bands of the numbers, as DESIGN has them: 2 runs, 1 waits, 0 is called in."""

QUIET_S = 2.0
"""How long nothing happens until it is said that nothing does; parked ones are woken after 1 s."""

_LIMIT_S = 30.0


@dataclass
class Scene:
    """Queues and leases of one scenario."""

    plane: ControlPlane
    name: str
    namespace: str
    client: Workloads
    runner: asyncio.Runner
    pools: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @classmethod
    @contextmanager
    def of(cls, plane: ControlPlane, name: str) -> Iterator["Scene"]:
        """Set one scene, and clear its Workloads away at the end."""
        namespace = plane.namespace(name)
        client = Workloads.at(plane.kubeconfig, lambda: datetime.now(UTC), namespace=namespace)
        with asyncio.Runner() as runner:
            scene = cls(plane, name.upper(), namespace, client, runner)
            scene.pool("pool")
            try:
                yield scene
            finally:
                for one in scene.look().values():
                    plane.api.delete(queues.workloads_path(namespace, one.name))
                runner.run(client.close())

    def ends(self, outcome: str) -> None:
        """Print what came out: the list of scenarios is the point of the run."""
        print(f"{self.name}: ok: {outcome} ({time.monotonic() - self.began:.1f} s)")

    # --- what an administrator sets up -----------------------------------------------------------

    def own(self, name: str) -> str:
        """Name of something of the whole cluster that is this scene's."""
        return f"{self.namespace}-{name}"

    def pool(self, name: str) -> None:
        """Declare a pool: a flavor that Workloads choose by their selector."""
        label = {names.FLAVOR_LABEL: self.own(name)}
        self.plane.api.apply([queues.flavor(names.flavor(self.own(name)), **label)])
        self.pools.append(name)

    def cohort(self, name: str, units: int | None = None, parent: str = "") -> None:
        """Make a cohort, with a quota of its own or none."""
        groups = None if units is None else self._quota(units)
        above = self.own(parent) if parent else ""
        self.plane.api.apply([queues.cohort(self.own(name), parent=above, groups=groups)])

    def queue(
        self, name: str, nominal: int, cohort: str = "site", within: Within = "Never", **spec: Any
    ) -> None:
        """Make a queue and its door, both of that name."""
        made = queues.cluster_queue(self.own(name), self._quota(nominal), cohort=self.own(cohort))
        made["spec"]["preemption"]["withinClusterQueue"] = within
        made["spec"] |= spec
        self.plane.api.apply([made, queues.local_queue(name, self.namespace, self.own(name))])
        path = f"{queues.GROUP}/clusterqueues/{self.own(name)}"
        self.plane.api.wait(path, lambda one: queues.holds(one, "Active"))

    def _quota(self, units: int) -> list[Any]:
        return queues.quota({names.flavor(self.own(pool)): units for pool in self.pools})

    def changes_queue(self, name: str, spec: dict[str, Any]) -> None:
        """Change a queue's rules."""
        self.plane.api.patch(f"{queues.GROUP}/clusterqueues/{self.own(name)}", {"spec": spec})

    # --- what the governor does ------------------------------------------------------------------

    def asks(self, lease: str, queue: str, number: int, units: int = 1, pool: str = "pool") -> Seen:
        """Submit one lease."""
        named = PoolName(self.own(pool))
        labels = names.lease_labels(lease, queue, None, named)
        wanted = Wanted(LeaseId(lease), self.namespace, queue, named, {}, units, number, labels)
        return self.runner.run(self.client.create(wanted))

    def runs(self, lease: str, queue: str, number: int, units: int = 1) -> None:
        """Submit one lease and see it admitted."""
        self.asks(lease, queue, number, units)
        self.until(lease, Phase.admitted)

    def renumbers(self, lease: str, number: int) -> None:
        """Give a lease another number."""
        assert self.runner.run(self.client.renumber(LeaseId(lease), number))

    def sets_active(self, lease: str, *, on: bool) -> None:
        """Take a waiting lease out of its queue, or back in."""
        assert self.runner.run(self.client.set_active(LeaseId(lease), on))

    def keeps(self, lease: str) -> None:
        """Take back an eviction."""
        assert self.runner.run(self.client.keep(LeaseId(lease)))

    def is_ready(self, lease: str) -> None:
        """Report that a lease's server is up."""
        assert self.runner.run(self.client.pods_ready(LeaseId(lease)))

    def deletes(self, lease: str) -> None:
        """Delete a lease whose server is gone."""
        self.runner.run(self.client.delete(LeaseId(lease)))

    def patches(self, lease: str, patch: dict[str, Any]) -> None:
        """Change a lease past the product's client, as somebody else would."""
        self.plane.api.patch(queues.workloads_path(self.namespace, lease), patch)

    # --- what is seen ----------------------------------------------------------------------------

    def look(self) -> dict[str, Seen]:
        """All Workloads of the scene by name."""
        return {one.name: one for one in self.runner.run(self.client.all())}

    def phases(self) -> dict[str, Phase]:
        """How each stands."""
        return {name: one.phase for name, one in self.look().items()}

    def evicted(self) -> set[str]:
        """Those that Kueue wants gone."""
        return {name for name, phase in self.phases().items() if phase is Phase.evicted}

    def held(self) -> int:
        """Units that count against quota, by what each Workload says."""
        return sum(one.units for one in self.look().values() if one.holds)

    def until(self, lease: str, phase: Phase) -> float:
        """Wait until a lease stands so; tells how many seconds that took."""
        return self.sees(lambda all_: lease in all_ and all_[lease].phase is phase)

    def sees(self, what: Callable[[dict[str, Seen]], bool]) -> float:
        """Wait until something is true of all; tells how many seconds that took."""
        start = time.monotonic()
        while not what(found := self.look()):
            assert time.monotonic() - start < _LIMIT_S, found
            time.sleep(0.02)
        return time.monotonic() - start

    def quiet(self, seconds: float = QUIET_S) -> None:
        """See that for a while nothing changes."""
        before, until = self.phases(), time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.2)
            assert self.phases() == before


Scenes = Callable[[str], AbstractContextManager[Scene]]
"""Sets a scene of a name."""
