"""From the policy and a lease to what its pod is made of; pure, and the one place that says it.

It decides nothing: what may start, and on which quota, is decided before.
"""

from dataclasses import dataclass, replace

from ..errors import RefusedError
from ..i18n import _
from ..lease import Environment, Isolation, OpenLease, PodDataset, PodTerms, PodVolume, Toleration
from ..policy.catalogue import Resolved
from ..policy.model import Policy
from ..policy.model.kube import Rdma, Taint
from ..policy.model.pools import Pool
from .names import (
    ATTEMPT_ANNOTATION,
    FLAVOR_LABEL,
    LABEL_HUB,
    LABEL_SERVER,
    LABEL_TASK_TYPE,
    LABEL_USER,
    Place,
    label_value,
    lease_labels,
    place,
)

__all__ = [
    "PRIORITY_CLASS",
    "PodSettings",
    "gpu_resource",
    "place_of",
    "pod_terms",
    "toleration_of",
]

PRIORITY_CLASS = "gpu-commons"
"""The one class of all governed pods: with two, the cluster's own scheduler would stop one lease
for another, without announcement."""

NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"
"""Where Multus reads which further networks a pod is in; without a namespace, of its own."""

SCRATCH_BYTES = 10 * 2**30
"""Where the profile says nothing."""

PROJECT_MOUNT = "/project"
DATA_MOUNT = "/data"

_WHOLE = "nvidia.com/gpu"
_SHARED = "nvidia.com/gpu.shared"


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What a site sets once for all pods.

    Parameters
    ----------
    single
        The one namespace of a site that has none for each project.
    priority_class
        None where the cluster has no class of ours.
    """

    single: str | None = None
    priority_class: str | None = PRIORITY_CLASS


def place_of(policy: Policy, team: str, project: str | None, single: str | None = None) -> Place:
    """Give the place of a lease as the policy has it: a project may name its own namespace."""
    found = place(team, project, single=single)
    named = None if project is None else policy.projects[project].namespace
    if named is None or single is not None:
        return found
    return replace(found, namespace=named)


def pod_terms(
    policy: Policy, resolved: Resolved, lease: OpenLease | None, settings: PodSettings
) -> PodTerms:
    """Say what the pod of a lease is made of.

    Parameters
    ----------
    lease
        None for a start without the governor, of which a lease is recorded afterwards.

    Raises
    ------
    RefusedError
        Its environment is a directory of one machine, which no cluster can start.
    """
    pool = None if resolved.pool is None else policy.pools[resolved.pool]
    project = None if resolved.project is None else policy.projects[resolved.project]
    resource, count = gpu_resource(policy, resolved)
    where = place_of(policy, resolved.team, resolved.project, settings.single)
    fabric = _fabric(policy, resolved)
    scratch = policy.profiles[resolved.profile].scratch or SCRATCH_BYTES
    return PodTerms(
        namespace=where.namespace,
        image=_image(resolved.environment),
        pull_secrets=() if project is None else project.pull_secrets,
        resource_name=resource,
        resource_count=count,
        node_selector={
            **_selector(resolved.pool, pool),
            **({} if fabric is None else fabric.selector),
        },
        tolerations=tuple(
            toleration_of(one)
            for rules in (pool, fabric)
            if rules is not None
            for one in rules.tolerations
        ),
        runtime_class=None if pool is None else pool.runtime_class,
        priority_class=settings.priority_class,
        labels=_labels(lease, resolved),
        annotations=_annotations(policy, resolved, lease),
        volume=_volume(policy, resolved.project, single=settings.single is not None),
        datasets=()
        if project is None
        else tuple(
            PodDataset(claim=name, mount=f"{DATA_MOUNT}/{name}") for name in project.datasets
        ),
        scratch_bytes=scratch,
        fabric_resource=None if fabric is None else fabric.resource,
        capabilities=() if fabric is None else ("IPC_LOCK",),
    )


def gpu_resource(policy: Policy, resolved: Resolved) -> tuple[str | None, int]:
    """Name the one GPU resource that a choice takes, as NVIDIA's device plugin does, and count it.

    The plugin writes a dot for the plus of profiles with media engines, `1g.10gb+me`.
    """
    if resolved.pool is None:
        return None, 0
    if resolved.mig_profile is not None:
        return f"nvidia.com/mig-{resolved.mig_profile.replace('+', '.')}", 1
    if resolved.shared_by is not None:
        return policy.pools[resolved.pool].shared_resource or _SHARED, 1
    return _WHOLE, resolved.gpus


def _fabric(policy: Policy, resolved: Resolved) -> Rdma | None:
    """Give the fabric of a lease: its project asks for it, its pool has it, its GPUs are whole.

    A virtual GPU is a part of one, so the class decides, not the number.
    """
    if resolved.pool is None or resolved.project is None:
        return None
    asks = policy.projects[resolved.project].network.fabric == "rdma"
    whole = resolved.isolation in {Isolation.gpu, Isolation.node}
    return policy.pools[resolved.pool].rdma if asks and whole else None


def _image(environment: Environment | None) -> str | None:
    if environment is None:
        return None
    if environment.image is None:
        raise RefusedError(
            "environment-not-an-image",
            _(
                "The environment {name} of this project is a directory of one machine, and servers "
                "are containers here. Choose another project, or ask an administrator to give it "
                "an image."
            ).format(name=environment.name),
        )
    return f"{environment.image}@{environment.digest}"


def _selector(name: str | None, pool: Pool | None) -> dict[str, str]:
    if name is None or pool is None:
        return {}
    return dict(pool.selector) or {FLAVOR_LABEL: label_value(name)}


def toleration_of(taint: Taint) -> Toleration:
    """Write a tolerated taint of the policy as a pod has it."""
    return Toleration(
        key=taint.key, operator=taint.operator, value=taint.value, effect=taint.effect
    )


def _labels(lease: OpenLease | None, resolved: Resolved) -> dict[str, str]:
    told: dict[str, str | None] = {LABEL_TASK_TYPE: resolved.task_type}
    if lease is not None:
        key = lease.key
        told |= {LABEL_USER: key.user, LABEL_SERVER: key.server, LABEL_HUB: key.hub}
    lease_id = "" if lease is None else lease.id
    named = lease_labels(lease_id, resolved.team, resolved.project, resolved.pool)
    return {**named, **{key: label_value(value) for key, value in told.items() if value}}


def _annotations(policy: Policy, resolved: Resolved, lease: OpenLease | None) -> dict[str, str]:
    """Give what the network of the pod is asked for, beside the attempt it belongs to."""
    project = None if resolved.project is None else policy.projects[resolved.project]
    task = policy.task_types.get(resolved.task_type or "")
    rates = None if task is None else task.bandwidth
    asked = {
        ATTEMPT_ANNOTATION: None if lease is None else lease.attempt_id,
        NETWORKS_ANNOTATION: None if project is None else project.network.secondary,
        "kubernetes.io/ingress-bandwidth": None if rates is None else rates.ingress,
        "kubernetes.io/egress-bandwidth": None if rates is None else rates.egress,
    }
    return {key: value for key, value in asked.items() if value is not None}


def _volume(policy: Policy, project: str | None, *, single: bool) -> PodVolume | None:
    volume = None if project is None else policy.projects[project].volume
    if project is None or volume is None:
        return None
    # In a namespace of its own the plain name is enough; in the one of a site it is not.
    claim = f"project-{label_value(project)}" if single else "project"
    return PodVolume(
        claim=claim,
        shared=volume.access == "ReadWriteMany",
        size_bytes=volume.size,
        storage_class=volume.class_,
        access=volume.access,
        mount=PROJECT_MOUNT,
    )
