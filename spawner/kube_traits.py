"""The one table from what was granted to the traits of KubeSpawner. Pure.

What a site has set itself is kept where it does no harm, and said where it is left out. A value
of a grant always wins.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hub_ext.i18n import _
from hub_ext.lease import PodTerms, Toleration

from .kube_site import (
    safe_container_config,
    safe_containers,
    safe_mounts,
    safe_pod_config,
    safe_security,
    safe_volumes,
)

Site = Mapping[str, Any]
Notes = list[str]

PROJECT = "gpu-commons-project"
SCRATCH = "gpu-commons-scratch"
DATA = "gpu-commons-data"
"""Names of our volumes inside a pod."""

SCRATCH_MOUNT = "/scratch"
EPHEMERAL = "ephemeral-storage"
USERS_GROUP = 100
"""Group that may write to new volumes where the site names none; Jupyter's images are in it."""

RESTRICTED = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
"""What the Pod Security level `restricted` demands of a pod, and of each container besides."""


class Asked(NamedTuple):
    """What a pod is made from: the grant's terms and figures, and the claim of its volume."""

    pod: PodTerms
    cpu_millis: int
    memory_bytes: int
    attempt_id: str
    claim: str | None


Fill = Callable[[Asked, Site, Notes], Any]


def _dropped(words: str) -> Fill:
    """Leave a site's trait out, and say so where it was set."""

    def fill(_asked: Asked, _site: Site, notes: Notes) -> None:
        notes.append(words)

    return fill


def _tolerations(asked: Asked, site: Site, _notes: Notes) -> list[Any]:
    own = [_toleration(one) for one in asked.pod.tolerations]
    return [*_listed(site.get("tolerations")), *own]


def _toleration(one: Toleration) -> dict[str, str]:
    return {key: value for key, value in one.model_dump().items() if value is not None}


def _limits(asked: Asked, site: Site, notes: Notes) -> dict[str, str]:
    kept = _without_gpus(site, "extra_resource_limits", notes)
    kept[EPHEMERAL] = str(asked.pod.scratch_bytes)
    if asked.pod.resource_name is not None:
        kept[asked.pod.resource_name] = str(asked.pod.resource_count)
    if asked.pod.fabric_resource is not None:
        kept[asked.pod.fabric_resource] = "1"
    return kept


def _guarantees(asked: Asked, site: Site, notes: Notes) -> dict[str, str]:
    kept = _without_gpus(site, "extra_resource_guarantees", notes)
    # A limit alone would be taken for a request too, and keep disk of the machine free.
    kept.setdefault(EPHEMERAL, "0")
    if asked.pod.resource_name is not None:
        kept[asked.pod.resource_name] = str(asked.pod.resource_count)
    if asked.pod.fabric_resource is not None:
        kept[asked.pod.fabric_resource] = "1"
    return kept


def _without_gpus(site: Site, trait: str, notes: Notes) -> dict[str, str]:
    """Keep what a site asks for every pod, but no device: those come from grants alone."""
    asked = dict(site.get(trait) or {})
    kept = {name: str(value) for name, value in asked.items() if "/" not in name}
    if kept.keys() != asked.keys():
        names = ", ".join(sorted(asked.keys() - kept.keys()))
        notes.append(_("{trait}: {names}: a server gets only the GPU that was granted").format(
            trait=trait, names=names
        ))  # fmt: skip
    return kept


def _volumes(asked: Asked, site: Site, notes: Notes) -> list[Any]:
    limit = {"sizeLimit": str(asked.pod.scratch_bytes)}
    made: list[Any] = [{"name": SCRATCH, "emptyDir": limit}]
    if asked.claim is not None:
        made.append({"name": PROJECT, "persistentVolumeClaim": {"claimName": asked.claim}})
    for number, one in enumerate(asked.pod.datasets):
        claim = {"claimName": one.claim, "readOnly": True}
        made.append({"name": f"{DATA}-{number}", "persistentVolumeClaim": claim})
    return [*safe_volumes(_listed(site.get("volumes")), notes), *made]


def _mounts(asked: Asked, site: Site, notes: Notes) -> list[Any]:
    made: list[Any] = [{"name": SCRATCH, "mountPath": SCRATCH_MOUNT}]
    volume = asked.pod.volume
    if volume is not None:
        made.append({"name": PROJECT, "mountPath": volume.mount})
    data: list[Any] = [
        {"name": f"{DATA}-{number}", "mountPath": one.mount, "readOnly": True}
        for number, one in enumerate(asked.pod.datasets)
    ]
    kept = safe_mounts(_listed(site.get("volume_mounts")), _listed(site.get("volumes")))
    ours = {one["mountPath"] for one in (*made, *data)}
    for one in kept:
        if one.get("mountPath") in ours:
            notes.append(_("volume_mounts: {path} is ours").format(path=one["mountPath"]))
    return [*(one for one in kept if one.get("mountPath") not in ours), *made, *data]


def _pod_config(asked: Asked, site: Site, notes: Notes) -> dict[str, Any]:
    kept = safe_pod_config(site.get("extra_pod_config") or {}, notes)
    if asked.pod.runtime_class is not None:
        kept["runtimeClassName"] = asked.pod.runtime_class
    return kept


def _pod_security(_asked: Asked, site: Site, notes: Notes) -> dict[str, Any]:
    kept = safe_security(site, "pod_security_context", notes)
    return {"fsGroupChangePolicy": "OnRootMismatch", **kept, **RESTRICTED}


def _security(asked: Asked, site: Site, notes: Notes) -> dict[str, Any]:
    kept = safe_security(site, "container_security_context", notes)
    return {
        **kept,
        **RESTRICTED,
        "allowPrivilegeEscalation": False,
        "capabilities": {
            "drop": ["ALL"],
            **({"add": list(asked.pod.capabilities)} if asked.pod.capabilities else {}),
        },
    }


def _not_root(_asked: Asked, site: Site, notes: Notes) -> Any:  # noqa: ANN401 - as the trait holds it
    if site.get("uid") == 0:
        notes.append(_("uid: 0: no server runs as root; its image says as whom it runs"))
        return None
    return site.get("uid")


def _group(_asked: Asked, site: Site, _notes: Notes) -> Any:  # noqa: ANN401 - as the trait holds it
    chosen = site.get("fs_gid")
    return USERS_GROUP if chosen is None else chosen


TABLE: dict[str, Fill] = {
    "namespace": lambda asked, _site, _notes: asked.pod.namespace,
    "image": lambda asked, site, _notes: asked.pod.image or site["image"],
    "image_pull_policy": lambda asked, _site, _notes: asked.pod.pull_policy,
    "image_pull_secrets": lambda asked, site, _notes: [
        *_listed(site.get("image_pull_secrets")),
        *({"name": one} for one in asked.pod.pull_secrets),
    ],
    "cpu_limit": lambda asked, _site, _notes: asked.cpu_millis / 1000,
    "cpu_guarantee": lambda asked, _site, _notes: asked.cpu_millis / 1000,
    "mem_limit": lambda asked, _site, _notes: asked.memory_bytes,
    "mem_guarantee": lambda asked, _site, _notes: asked.memory_bytes,
    "extra_resource_limits": _limits,
    "extra_resource_guarantees": _guarantees,
    "node_selector": lambda asked, site, _notes: {
        **(site.get("node_selector") or {}),
        **asked.pod.node_selector,
    },
    "tolerations": _tolerations,
    "priority_class_name": lambda asked, site, _notes: (
        asked.pod.priority_class or site.get("priority_class_name")
    ),
    "extra_labels": lambda asked, site, _notes: {
        **(site.get("extra_labels") or {}),
        **asked.pod.labels,
    },
    "extra_annotations": lambda asked, site, _notes: {
        **(site.get("extra_annotations") or {}),
        **asked.pod.annotations,
        ATTEMPT_ANNOTATION: asked.attempt_id,
    },
    "volumes": _volumes,
    "volume_mounts": _mounts,
    "extra_pod_config": _pod_config,
    "extra_container_config": lambda _asked, site, notes: safe_container_config(
        site.get("extra_container_config") or {}, notes
    ),
    "init_containers": lambda _asked, site, notes: safe_containers(
        _listed(site.get("init_containers")), "init_containers", notes
    ),
    "extra_containers": lambda _asked, site, notes: safe_containers(
        _listed(site.get("extra_containers")), "extra_containers", notes
    ),
    "pod_security_context": _pod_security,
    "container_security_context": _security,
    "uid": _not_root,
    "fs_gid": _group,
    "privileged": lambda _asked, _site, _notes: False,
    "allow_privilege_escalation": lambda _asked, _site, _notes: False,
    "automount_service_account_token": lambda _asked, _site, _notes: False,
    "service_account": lambda _asked, _site, _notes: None,
    "enable_user_namespaces": lambda _asked, _site, _notes: False,
    "profile_list": lambda _asked, _site, _notes: [],
}
"""Trait of KubeSpawner -> what it becomes, from the grant and from what the site has set."""

ATTEMPT_ANNOTATION = "gpu-commons.dev/attempt"
"""Tells one attempt's pod from another's of the same name."""

NOT_KEPT: dict[str, str] = {
    "service_account": _("service_account: servers get no account of the cluster"),
    "privileged": _("privileged: no server is"),
    "allow_privilege_escalation": _("allow_privilege_escalation: no server may"),
    "automount_service_account_token": _("automount_service_account_token: no server gets one"),
    "enable_user_namespaces": _("enable_user_namespaces: the policy says in which namespace"),
    "profile_list": _("profile_list: people choose among the profiles of the policy"),
}
"""Traits of which nothing is kept, and what is said where a site has set one."""


def traits(asked: Asked, site: Site) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fill the table: values of traits, and what of the site's own was left out.

    Parameters
    ----------
    asked
        What was granted.
    site
        The site's own value of each trait of the table.
    """
    notes: Notes = [words for name, words in NOT_KEPT.items() if site.get(name)]
    values = {trait: fill(asked, site, notes) for trait, fill in TABLE.items()}
    return values, tuple(dict.fromkeys(notes))


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - traits that are lists or maps of them
    """Entries of a trait that is a list, or a map whose keys only order them."""
    if isinstance(value, Mapping):
        return [value[key] for key in sorted(value)]
    return list(value or [])
