"""Nodes that exist only as objects: kwok keeps them ready and says that their pods run."""

from collections.abc import Iterable, Mapping

from .api import Manifest

FAKE = "kwok.x-k8s.io/node=fake"
"""Annotation by which kwok knows its nodes."""

PODS = "110"


def fake_node(
    name: str,
    resources: Mapping[str, str] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Manifest] = (),
) -> Manifest:
    """Describe a kwok node.

    Parameters
    ----------
    resources
        What it offers beside CPU, memory and pods, for example `{"nvidia.com/gpu": "8"}`.
    """
    key, _, value = FAKE.partition("=")
    known = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})}
    offered = {"cpu": "64", "memory": "512Gi", "pods": PODS, **(resources or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {key: value},
            "labels": known,
        },
        "spec": {"taints": list(taints)},
        "status": {"capacity": offered, "allocatable": offered},
    }


def node_ready(node: Manifest) -> bool:
    """Whether a node says that it is ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def takes_pods(node: Manifest) -> bool:
    """Whether a ready node takes pods: controllers take its first taint away when they saw it."""
    taints = node["spec"].get("taints", [])
    return node_ready(node) and not any(
        one["key"].startswith("node.kubernetes.io/") for one in taints
    )
