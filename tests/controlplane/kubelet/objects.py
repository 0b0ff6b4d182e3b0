"""The objects that a kubelet writes, as plain values: no clock and no client here but `stamp`."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from .client import Manifest
from .settings import Settings

LEASE_S = 40


def stamp() -> str:
    """Read the clock, to the second, as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fine_stamp() -> str:
    """Read the clock, to the microsecond, for leases."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def annotation(manifest: Manifest, name: str) -> str:
    """Read an annotation, empty where there is none."""
    found: str = (manifest["metadata"].get("annotations") or {}).get(name, "")
    return found


def condition(kind: str, *, holds: bool, since: str) -> Manifest:
    """Describe one condition of a pod or node."""
    status = "True" if holds else "False"
    return {"type": kind, "status": status, "reason": "TestKubelet", "lastTransitionTime": since}


def node(settings: Settings) -> Manifest:
    """Describe the node as it registers."""
    labels = {
        "kubernetes.io/hostname": settings.name,
        "kubernetes.io/os": "linux",
        **settings.labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": settings.name, "labels": labels},
        "spec": {"taints": list(settings.taints)},
    }


def node_status(settings: Settings, began: str) -> Manifest:
    """Describe a node that is well."""
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure")
    conditions = [
        condition("Ready", holds=True, since=began),
        *(condition(kind, holds=False, since=began) for kind in pressures),
    ]
    heard = stamp()
    return {
        "capacity": settings.capacity,
        "allocatable": settings.capacity,
        "conditions": [{**one, "lastHeartbeatTime": heard} for one in conditions],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    }


def node_lease(name: str) -> Manifest:
    """Describe the node's sign of life."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": fine_stamp(),
        },
    }


def pod_status(
    phase: str, address: str, began: str, containers: Iterable[Manifest], **more: str
) -> Manifest:
    """Describe a pod's state, its containers' included."""
    listed = list(containers)
    runs = phase == "Running" and all(one["ready"] for one in listed)
    now = stamp()
    return {
        "phase": phase,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "127.0.0.1",
        "startTime": began,
        "containerStatuses": listed,
        "conditions": [
            condition("Initialized", holds=True, since=now),
            condition("PodReadyToStartContainers", holds=runs, since=now),
            condition("ContainersReady", holds=runs, since=now),
            condition("Ready", holds=runs, since=now),
        ],
        **more,
    }


def container_status(name: str, image: str, old: Mapping[str, object], **news: object) -> Manifest:
    """Describe a container's state: what was known of it, and what is new."""
    ready = bool(news.get("ready"))
    known = {"restartCount": 0, **old, "name": name, "image": image, "imageID": image}
    return {**known, "ready": ready, "started": ready, **news}


def event(pod: Manifest, node_name: str, reason: str, message: str, kind: str) -> Manifest:
    """Describe something that happened to a pod."""
    meta, now = pod["metadata"], stamp()
    about = {key: meta[key] for key in ("name", "namespace", "uid")}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{meta['name']}.", "namespace": meta["namespace"]},
        "type": kind,
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": "Pod", "apiVersion": "v1", **about},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "source": {"component": "kubelet", "host": node_name},
    }
