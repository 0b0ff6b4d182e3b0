"""A real hub with governed servers as pods of a process node, and the spawner tests' governor."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hub_ext.lease import PodTerms, Report
from tests.spawner.kube.conftest import terms_of
from tests.support.governor import TOKEN, FakeGovernor
from tests.support.hub import RealHub

from .api import Manifest
from .hubs import ACCOUNT, SPAWNER, granted, server_pods
from .kubelets import Kubelet
from .plane import ControlPlane

PEOPLE = ["ada", "ben", "cyd", "dee", "eva", "fay", "gil", "hal"]
CONFIG = """
c.GovernedMixin.governor_url = {url!r}
c.GovernedMixin.token_file = {token!r}
c.GovernedMixin.state_dir = {state!r}
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 5}}
c.KubeSpawner.start_timeout = 120
c.GovernedKubeSpawner.scheduling_timeout = 4
c.GovernedKubeSpawner.trouble_timeout = 3
c.GovernedKubeSpawner.stop_timeout = 8
c.KubeSpawner.delete_grace_period = 2
"""
OPTIONS = {"profile": "mig-small"}


@dataclass
class Cluster:
    """A hub on a cluster, and everything that a story looks at."""

    hub: RealHub
    node: Kubelet
    governor: FakeGovernor
    namespace: str
    changes: dict[str, Any] = field(default_factory=dict)
    """What the terms of the next pods have beyond the usual."""

    def pods(self) -> list[Manifest]:
        return server_pods(self.node.plane, self.namespace)

    def pod_path(self) -> str:
        (pod,) = self.pods()
        return f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}"

    def refused(self, user: str) -> str:
        """Start in vain; what the person reads."""
        answer = self.hub.spawn(user, OPTIONS)
        if answer.status == 202:
            where = f"/users/{user}/server/progress"
            text = self.hub.rest("GET", where).text
            self.hub.wait(lambda: self.hub.settled(user), "the start to be given up", seconds=60)
            return text
        assert answer.status == 409, answer
        return answer.text

    def ended(self, count: int = 1) -> Report:
        """Wait for the last report of an end."""
        self.hub.wait(lambda: len(self.governor.ended()) >= count, "a report", seconds=60)
        return self.governor.ended()[-1]

    def clear(self) -> None:
        """Stop what runs, and forget what was heard."""
        for name in PEOPLE:
            if self.hub.ready(name):
                self.hub.stop_server(name)
        self.hub.wait(lambda: not self.pods(), "the pods to go")
        for seen in (self.governor.reports, self.governor.asks, self.governor.grants):
            seen.clear()


@contextmanager
def governed_cluster(
    plane: ControlPlane, folder: Path, *, python: Path | None = None
) -> Iterator[Cluster]:
    """Run the hub, with the interpreter of another version where one is given."""
    # Whatever passes here passes the strictest level of Pod Security.
    namespace = plane.namespace("atlas", **{"pod-security.kubernetes.io/enforce": "restricted"})
    home = plane.namespace("hub")
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    meta = {"name": "gpu-commons"}
    # As it is rendered: neither can be changed while others share the cluster.
    plane.api.apply([{**priority, "metadata": meta, "value": 0, "preemptionPolicy": "Never"}])
    (folder / "token").write_text(TOKEN)
    with Kubelet.running(plane) as node, FakeGovernor.running() as governor:
        config = CONFIG.format(
            url=governor.url, token=str(folder / "token"), state=str(folder / "state")
        )
        if python is not None:
            program = str(python.parent / "jupyterhub-singleuser")
            config += f"c.KubeSpawner.cmd = [{program!r}]\n"
        user = plane.service_account(home, ACCOUNT)
        for one in (home, namespace):
            plane.api.apply(granted(one, user))
        with RealHub.running(
            folder / "hub",
            extra=SPAWNER.format(spawner="", namespace=home, node=node.name) + _ours(config),
            environment={"KUBECONFIG": str(plane.user_kubeconfig(home, ACCOUNT))},
            python=python or sys.executable,
        ) as hub:
            hub.add_users(*PEOPLE)
            cluster = Cluster(hub, node, governor, namespace)
            governor.room = len(PEOPLE)
            governor.pod_of = lambda ask, offer: _terms(cluster, ask, offer)
            yield cluster


def _ours(config: str) -> str:
    return (
        "from spawner.kube import GovernedKubeSpawner\n"
        f"c.JupyterHub.spawner_class = GovernedKubeSpawner\n{config}"
    )


def _terms(cluster: Cluster, ask: Any, offer: Any) -> PodTerms:
    marks = {"gpu-commons.dev/attempt": ask.attempt_id}
    changes = dict(cluster.changes)
    return terms_of(
        ask,
        offer,
        **{
            "namespace": cluster.namespace,
            "resource_name": "nvidia.com/mig-1g.10gb",
            "node_selector": {},
            "runtime_class": None,
            # Nothing here binds claims.
            "volume": None,
            "datasets": (),
            "annotations": {**marks, **changes.pop("annotations", {})},
            **changes,
        },
    )
