"""The agent on every GPU node, and where its figures and the governor's are read from.

It sees processes of the node and all its GPUs, so it has a namespace of its own, apart from
people's, and no right at all on the API server.
"""

from collections.abc import Iterator
from typing import Any

from ...policy.model import Policy, Pool
from .. import names
from .kinds import Manifest
from .marks import manifest
from .site import Site

__all__ = ["AGENT", "METRICS_SECRET", "agent", "governor_api"]

AGENT = "gpu-commons-agent"
"""Its service account, DaemonSets and the Secret with its token (key `token`)."""

METRICS_SECRET = "gpu-commons-metrics"  # noqa: S105 - a name
"""Secret in the hub's namespace with a token that may read metrics (key `token`)."""

_PRIVILEGED = {
    f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")
}
_KUBELET = "/var/lib/kubelet/pod-resources"
"""Folder of the kubelet's socket that tells who holds devices."""

_CGROUPS = "/sys/fs/cgroup"
"""Where a machine keeps its control groups; a container sees no more than its own there."""

_HOST_CGROUPS = "/host/cgroup"

_OUTBOX = "/var/spool/gpu-commons"
"""Where readings wait for a governor that is away; the pod's end loses them, a restart does not."""

_APP = "app.kubernetes.io/name"


def agent(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render the agent where its image is named, and the ServiceMonitor where one is wanted."""
    if site.agent_image is not None:
        space = site.agent_namespace
        yield manifest("Namespace", space, {}, labels=_PRIVILEGED)
        yield manifest(
            "ServiceAccount", AGENT, {"automountServiceAccountToken": False}, namespace=space
        )
        for pool, rules in policy.pools.items():
            yield _daemons(pool, rules, site, site.agent_image)
    if site.service_monitor:
        yield _monitor(site)


def governor_api(site: Site) -> str:
    """Give the base of the governor's API inside the cluster."""
    port = site.governor_port
    return f"http://{site.governor}.{site.hub_namespace}.svc:{port}/services/gpu-commons/api/v1"


def _daemons(pool: str, rules: Pool, site: Site, image: str) -> Manifest:
    labels = {_APP: AGENT, names.LABEL_POOL: names.label_value(pool)}
    inside: dict[str, Any] = {
        "serviceAccountName": AGENT,
        "automountServiceAccountToken": False,
        # NVML names processes by the node's numbers, and nobody else can say whose they are.
        "hostPID": True,
        "nodeSelector": {**rules.selector, names.FLAVOR_LABEL: names.label_value(pool)},
        "containers": [_container(site, image)],
        "volumes": [
            {"name": "token", "secret": {"secretName": AGENT}},
            # The kubelet alone knows which container the device plugin gave which GPU.
            {"name": "kubelet", "hostPath": {"path": _KUBELET, "type": "Directory"}},
            {"name": "cgroups", "hostPath": {"path": _CGROUPS, "type": "Directory"}},
            {"name": "outbox", "emptyDir": {"sizeLimit": "128Mi"}},
        ],
    }
    if rules.tolerations:
        inside["tolerations"] = [one.model_dump(exclude_none=True) for one in rules.tolerations]
    if rules.runtime_class is not None:
        inside["runtimeClassName"] = rules.runtime_class
    spec = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": inside},
    }
    return manifest(
        "DaemonSet",
        names.label_value(f"{AGENT}-{pool}"),
        {"spec": spec},
        namespace=site.agent_namespace,
        labels=labels,
    )


def _container(site: Site, image: str) -> dict[str, Any]:
    api = governor_api(site)
    told = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_MIG_MONITOR_DEVICES": "all"}
    told["NVIDIA_DRIVER_CAPABILITIES"] = "utility"
    node = {"name": "GPU_COMMONS_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return {
        "name": "agent",
        "image": image,
        "command": ["gpu-commons", "agent"],
        "args": [
            *("--url", api, "--token-file", "/run/gpu-commons/token", "--devices", "nvml"),
            *("--kubelet-socket", f"{_KUBELET}/kubelet.sock", "--outbox", _OUTBOX),
            *("--cgroups", _HOST_CGROUPS),
        ],
        "env": [node, *({"name": key, "value": value} for key, value in told.items())],
        "resources": {
            "requests": {"cpu": "20m", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": {
            "runAsUser": 0,
            "readOnlyRootFilesystem": True,
            # The driver shows MIG instances of others only to whoever has the first; whose a
            # process is stands in its environment, which the second lets be read.
            "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN", "SYS_PTRACE"]},
        },
        "volumeMounts": [
            {"name": "token", "mountPath": "/run/gpu-commons", "readOnly": True},
            {"name": "kubelet", "mountPath": _KUBELET, "readOnly": True},
            {"name": "cgroups", "mountPath": _HOST_CGROUPS, "readOnly": True},
            {"name": "outbox", "mountPath": _OUTBOX},
        ],
    }


def _monitor(site: Site) -> Manifest:
    point = {
        "port": "http",
        "path": "/services/gpu-commons/metrics",
        "interval": "30s",
        # They name teams and pools, so the governor asks for the hub's scope `read:metrics`.
        "authorization": {"credentials": {"name": METRICS_SECRET, "key": "token"}},
    }
    spec = {"selector": {"matchLabels": {_APP: site.governor}}, "endpoints": [point]}
    return manifest("ServiceMonitor", site.governor, {"spec": spec}, namespace=site.hub_namespace)
