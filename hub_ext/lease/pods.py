"""What a server of a grant is made of on Kubernetes, and what its pod proves of it.

The governor fills the terms in from the policy; the spawner copies them and looks nothing up.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from .words import DeviceId, Liveness, ShortText, Value

Access = Literal["ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
Bytes = Annotated[int, Field(ge=1)]


class Toleration(Value):
    """A taint of nodes that a server may stand on all the same, in Kubernetes' words."""

    key: ShortText | None = None
    """None with `Exists` tolerates every taint."""
    operator: Literal["Exists", "Equal"] = "Exists"
    value: ShortText | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """None tolerates every effect."""


class PodVolume(Value):
    """The volume of a project: a claim that is made where it is missing, and never deleted.

    `shared` claims are one for all servers of the project; of the others each server has its own,
    whose name begins with `claim`.
    """

    claim: ShortText
    shared: bool
    size_bytes: Bytes
    storage_class: ShortText | None = None
    """None is the cluster's default."""
    access: Access
    mount: ShortText
    """Where servers see it."""


class PodDataset(Value):
    """An existing claim of the namespace that servers may read and not write."""

    claim: ShortText
    mount: ShortText


class PodTerms(Value):
    """What a Kubernetes spawner needs of one grant."""

    namespace: ShortText
    image: str | None = None
    """`repository@sha256:…`; None is the site's own image."""
    pull_policy: Literal["IfNotPresent", "Always"] = "IfNotPresent"
    pull_secrets: tuple[ShortText, ...] = ()
    resource_name: ShortText | None = None
    """The one GPU resource: `nvidia.com/gpu`, `nvidia.com/mig-1g.18gb`, `nvidia.com/gpu.shared`."""
    resource_count: Annotated[int, Field(ge=0)] = 0
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    runtime_class: ShortText | None = None
    priority_class: ShortText | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    volume: PodVolume | None = None
    datasets: tuple[PodDataset, ...] = ()
    scratch_bytes: Bytes
    """Most local disk of its node that it may fill, before it is evicted."""
    fabric_resource: ShortText | None = None
    """The one device of a fabric: `rdma/hca_shared_devices_a`."""
    capabilities: tuple[Literal["IPC_LOCK"], ...] = ()
    """What it may do beyond the Pod Security level `restricted`."""

    @model_validator(mode="after")
    def _one_resource(self) -> Self:
        if (self.resource_name is None) != (self.resource_count == 0):
            raise ValueError("a GPU resource and its number go together")
        return self


class DeviceHolding(Value):
    """A device that a container of a node holds, as the node's kubelet tells it."""

    namespace: ShortText
    pod: ShortText
    device: DeviceId


_UNPROVEN = frozenset({"NodeLost", "DeletionByTaintManager", "DeletionByPodGC"})
"""Reasons that controllers write, without a word of the machine itself."""


def pod_disruption(pod: Mapping[str, Any]) -> str:
    """Why somebody wants a pod gone, as Kubernetes names it; empty where nobody does."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one.get("type") == "DisruptionTarget" and one.get("status") == "True":
            return str(one.get("reason") or "")
    return ""


def pod_machine_lost(pod: Mapping[str, Any]) -> bool:
    """Whether a pod's machine does not answer, so that nothing it says of the pod is news."""
    told = pod.get("status") or {}
    if told.get("reason") in _UNPROVEN or told.get("phase") == "Unknown":
        return True
    return pod_disruption(pod) in _UNPROVEN


def pod_liveness(pod: Mapping[str, Any] | None) -> Liveness:
    """Tell what a pod, as JSON, proves of its server; None is one that the API has no more.

    Proof of an end is only what the kubelet of a known machine wrote, or that the object is gone.
    """
    if pod is None:
        return Liveness.gone
    if pod_machine_lost(pod):
        return Liveness.unknown
    over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return Liveness.gone if over else Liveness.alive
