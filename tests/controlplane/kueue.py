"""Kueue on a control plane: its kinds, itself, and the webhooks that it serves there.

So set, it takes bare Workloads and pods that name a queue, and touches nothing else.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.ports import free_port

from . import queues
from .api import Manifest, object_path
from .plane import ControlPlane
from .programs import PROGRAMS, Shop
from .programs.changed_kueue import VARIABLE
from .programs.manifests import CRDS, WEBHOOKS

KINDS_S = 30
OWN_NAMESPACE = "kueue-system"
ACCOUNT = "kueue-controller-manager"
"""Service account that Kueue has in a cluster, by which rules of others know it."""

SERVED = ("workload", "clusterqueue", "resourceflavor", "pod", "cohort")
"""Kinds whose webhooks are installed; those of other frameworks would need their kinds."""


def start_kueue(plane: ControlPlane, **settings: Any) -> None:
    """Install Kueue, start it and wait until it admits.

    Parameters
    ----------
    settings
        What to add to its configuration, for example `resources={"transformations": […]}`.

    Raises
    ------
    NotBuiltError
        If it was not built.
    ProgramEndedError
        If it does not come up.
    """
    plane.shop.require(["kueue"])
    kinds = _manifests(plane.shop, CRDS)
    plane.api.apply(kinds)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN_NAMESPACE}}
    plane.api.apply([namespace])
    for kind in kinds:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind['metadata']['name']}"
        plane.api.wait(path, _established, seconds=KINDS_S)
    _wait_until_served(plane, kinds)
    hooks, health = free_port(), free_port()
    config = _configuration(plane, hooks, health)
    _written(plane).write_text(json.dumps({**config, **settings}))
    plane.processes.start(
        "kueue",
        plane.shop.path("kueue"),
        *("--config", _written(plane), "--feature-gates=VisibilityOnDemand=false"),
        "--zap-log-level=2",
        environment={"KUBECONFIG": str(_account(plane)), VARIABLE: str(plane.papers.folder)},
    )
    plane.wait_healthy("kueue", f"http://127.0.0.1:{health}/readyz")
    authority = base64.b64encode(plane.papers.authority.read_bytes()).decode()
    for manifest in _manifests(plane.shop, WEBHOOKS):
        plane.api.apply([_on_loopback(manifest, hooks, authority)])
    _wait_until_it_follows(plane)


def _wait_until_served(plane: ControlPlane, kinds: list[Manifest]) -> None:
    """See all kinds in the list of what is served: that comes later than their conditions.

    Kueue looks there once, at its start, and ends where one lacks.
    """
    wanted: dict[str, set[str]] = {}
    for kind in kinds:
        spec = kind["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}"
        wanted.setdefault(path, set()).add(spec["names"]["plural"])
    for path, plurals in wanted.items():
        plane.api.wait(
            path,
            lambda found, plurals=plurals: plurals <= {one["name"] for one in found["resources"]},  # type: ignore[misc]
            seconds=KINDS_S,
        )


def _account(plane: ControlPlane) -> Path:
    """Give Kueue its account, which may do everything, and return its kubeconfig."""
    group = "rbac.authorization.k8s.io"
    user = {
        "apiGroup": group,
        "kind": "User",
        "name": plane.service_account(OWN_NAMESPACE, ACCOUNT),
    }
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding"}
    meta = {"name": ACCOUNT}
    plane.api.apply([{**binding, "metadata": meta, "roleRef": role, "subjects": [user]}])
    return plane.user_kubeconfig(OWN_NAMESPACE, ACCOUNT)


def _wait_until_it_follows(plane: ControlPlane) -> None:
    """See a queue become active: Kueue says that it is ready two seconds before it is."""
    name = "is-it-ready"
    objects = [queues.flavor(name), queues.cluster_queue(name, queues.quota({name: 1}))]
    plane.api.apply(objects)
    paths = [object_path(one) for one in objects]
    plane.api.wait(paths[1], lambda queue: queues.holds(queue, "Active"), seconds=KINDS_S)
    for path in reversed(paths):
        plane.api.delete(path)
        plane.api.wait_gone(path)


@contextmanager
def kueue_with(plane: ControlPlane, **settings: Any) -> Iterator[None]:
    """Restart Kueue with more settings for the length of a `with` block, then as it was."""
    usual = _written(plane).read_text()

    def restart(config: str) -> None:
        plane.processes.end("kueue")
        _written(plane).write_text(config)
        plane.start_again("kueue")

    restart(json.dumps({**json.loads(usual), **settings}))
    try:
        yield
    finally:
        restart(usual)


def _written(plane: ControlPlane) -> Path:
    return plane.folder / "kueue.json"


def _manifests(shop: Shop, name: str) -> list[Manifest]:
    folder = shop.home(PROGRAMS["kueue"]) / "manifests"
    read: list[Manifest] = json.loads((folder / name).read_text())
    return read


def _established(kind: Manifest) -> bool:
    conditions = kind.get("status", {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _configuration(plane: ControlPlane, hooks: int, health: int) -> Manifest:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": OWN_NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": hooks, "certDir": str(plane.papers.folder)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": ["pod"]},
        # Kueue asks a server that serves nobody else: nothing is gained by holding back.
        "clientConnection": {"qps": 500, "burst": 1000},
    }


def _on_loopback(manifest: Manifest, port: int, authority: str) -> Manifest:
    """Point webhooks that a Service would serve in a cluster at the process itself."""
    kept = [hook for hook in manifest["webhooks"] if hook["name"].split(".")[0][1:] in SERVED]
    for hook in kept:
        path = hook["clientConfig"]["service"]["path"]
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority}
        if "pod" in hook["name"]:
            apart = {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", OWN_NAMESPACE],
            }
            hook["namespaceSelector"] = {"matchExpressions": [apart]}
    name = f"kueue-{manifest['metadata']['name']}"
    return {**manifest, "metadata": {"name": name}, "webhooks": kept}
