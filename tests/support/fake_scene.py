"""The same scenes on the small Kueue, so that it is held to what the real one was seen to do."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from hub_ext.admission.engine import Cohort, Group, Preemption, Queue, Quota
from hub_ext.admission.engine.values import Within
from hub_ext.kube import names
from hub_ext.kube.engine import CLUSTER_QUEUE_STOPPED
from hub_ext.kube.workloads import Workloads
from tests.controlplane.plane import ControlPlane

from .fake_kueue import FakeKueue
from .kube_scene import Scene

_NAMESPACE = "scene"


@dataclass
class FakeScene(Scene):
    """One scene of a small Kueue of its own; nothing happens there by itself."""

    fake: FakeKueue = field(default_factory=lambda: FakeKueue((), (), {}))

    @classmethod
    @contextmanager
    def on_fake(cls, folder: Path, name: str) -> Iterator["FakeScene"]:
        """Set one scene."""
        fake = FakeKueue((), (), {})
        with asyncio.Runner() as runner:
            stack = AsyncExitStack()
            runner.run(stack.enter_async_context(fake.serving()))
            client = Workloads.at(
                fake.kubeconfig(folder), lambda: datetime.now(UTC), namespace=_NAMESPACE
            )
            scene = cls(
                cast(ControlPlane, None), name.upper(), _NAMESPACE, client, runner, fake=fake
            )
            scene.pool("pool")
            try:
                yield scene
            finally:
                runner.run(client.close())
                runner.run(stack.aclose())

    def pool(self, name: str) -> None:
        self.pools.append(name)
        self.fake.selectors[self.own(name)] = names.flavor(self.own(name))

    def cohort(self, name: str, units: int | None = None, parent: str = "") -> None:
        above = self.own(parent) if parent else None
        made = Cohort(self.own(name), above, {} if units is None else self._pairs(units))
        self.fake.cohorts = (*self.fake.cohorts, made)

    def queue(
        self, name: str, nominal: int, cohort: str = "site", within: Within = "Never", **spec: Any
    ) -> None:
        assert not spec
        made = Queue(
            self.own(name),
            self.own(cohort),
            (Group((names.UNIT,), tuple(self.fake.selectors.values())),),
            self._pairs(nominal),
            Preemption(within=within, reclaim="LowerPriority"),
        )
        others = (one for one in self.fake.queues if one.name != made.name)
        self.fake.queues = (*others, made)
        self.fake.local[_NAMESPACE, name] = made.name
        self.fake.wakes()

    def _pairs(self, units: int) -> dict[tuple[str, str], Quota]:
        return {(flavor, names.UNIT): Quota(units) for flavor in self.fake.selectors.values()}

    def changes_queue(self, name: str, spec: dict[str, Any]) -> None:
        active = spec["stopPolicy"] == "None"
        self.fake.queues = tuple(
            replace(one, active=active) if one.name == self.own(name) else one
            for one in self.fake.queues
        )
        if not active:
            for lease in self.fake.holding():
                if self.fake.body(lease)["spec"]["queueName"] == name:
                    self.fake.evict(lease, CLUSTER_QUEUE_STOPPED)
        self.fake.wakes()

    def patches(self, lease: str, patch: dict[str, Any]) -> None:
        self.fake.change(self.fake.body(lease), patch)

    def quiet(self, seconds: float = 0) -> None:
        """Whatever happens here has happened when a call returns."""
        before = self.phases()
        assert self.phases() == before
