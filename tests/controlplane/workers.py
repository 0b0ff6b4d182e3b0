"""Scheduler, controllers and kwok: with them pods find nodes, and what is deleted goes away.

The limits are shorter than a cluster's, so that a test sees a lost node after seconds.
"""

from pathlib import Path

from tests.support.ports import free_port

from .nodes import FAKE
from .plane import ControlPlane

GRACE_S = 8
"""After so long without a sign a node is lost; kwok renews its nodes' leases within it."""

CONTROLLERS_S = 60


def start_controllers(plane: ControlPlane) -> None:
    """Start kube-controller-manager and wait until it makes service accounts."""
    plane.processes.start(
        "kube-controller-manager",
        plane.shop.path("kube-controller-manager"),
        *_serving(plane, "kube-controller-manager"),
        *("--root-ca-file", plane.papers.authority),
        *("--service-account-private-key-file", plane.papers.tokens_private),
        f"--node-monitor-grace-period={GRACE_S}s",
        "--node-monitor-period=1s",
        "--use-service-account-credentials=false",
    )
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    plane.processes.wait(
        "kube-controller-manager",
        lambda: plane.api.find(path) is not None,
        seconds=CONTROLLERS_S,
    )


def start_scheduler(plane: ControlPlane) -> None:
    """Start kube-scheduler and wait until it is well."""
    serving = _serving(plane, "kube-scheduler")
    plane.processes.start("kube-scheduler", plane.shop.path("kube-scheduler"), *serving)
    port = serving[serving.index("--secure-port") + 1]
    plane.wait_healthy("kube-scheduler", f"https://127.0.0.1:{port}/readyz")


def start_kwok(plane: ControlPlane) -> None:
    """Start kwok, which keeps the nodes that carry its annotation, and pods on them, alive."""
    address = f"127.0.0.1:{free_port()}"
    selector, _, value = FAKE.partition("=")
    plane.processes.start(
        "kwok",
        plane.shop.path("kwok"),
        *("--kubeconfig", plane.kubeconfig, "--manage-all-nodes=false"),
        *("--manage-nodes-with-annotation-selector", f"{selector}={value}"),
        *("--cidr", "10.244.0.0/16", "--node-ip", "127.0.0.1", "--server-address", address),
        f"--node-lease-duration-seconds={GRACE_S}",
    )
    plane.wait_healthy("kwok", f"http://{address}/readyz")


def _serving(plane: ControlPlane, name: str) -> list[str | Path]:
    """What scheduler and controllers have in common."""
    config, papers = str(plane.kubeconfig), plane.papers
    return [
        *("--kubeconfig", config),
        *("--authentication-kubeconfig", config, "--authorization-kubeconfig", config),
        *("--leader-elect=false", "--bind-address", "127.0.0.1"),
        *("--secure-port", str(free_port()), "--cert-dir", plane.folder / name),
        *("--tls-cert-file", papers.server, "--tls-private-key-file", papers.server_key),
        # With the usual limits 200 new nodes take 44 s in place of 5.
        *("--kube-api-qps=500", "--kube-api-burst=1000"),
    ]
