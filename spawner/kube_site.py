"""What of a site's own settings of KubeSpawner may go into a governed pod. Pure.

Nothing that reaches the machine below, another account, or a device that was not granted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hub_ext.i18n import _

Notes = list[str]

POD_FIELDS = {
    "hostNetwork": _("the network of the machine"),
    "hostPID": _("processes of the machine"),
    "hostIPC": _("memory of the machine"),
    "hostUsers": _("users of the machine"),
    "serviceAccountName": _("an account of the cluster"),
    "serviceAccount": _("an account of the cluster"),
    "automountServiceAccountToken": _("an account of the cluster"),
    "nodeName": _("a machine past the scheduler"),
    "nodeSelector": _("machines: the policy says which"),
    "runtimeClassName": _("a RuntimeClass: the policy says which"),
    "priorityClassName": _("a priority: all servers have the same"),
    "priority": _("a priority: all servers have the same"),
    "preemptionPolicy": _("a priority: all servers have the same"),
    "securityContext": _("rights: `pod_security_context` is for those"),
    "containers": _("containers: `extra_containers` is for those"),
    "initContainers": _("containers: `init_containers` is for those"),
    "ephemeralContainers": _("containers: `extra_containers` is for those"),
    "volumes": _("volumes: the trait `volumes` is for those"),
    "resourceClaims": _("devices: a server gets only what was granted"),
    "resources": _("devices: a server gets only what was granted"),
    "restartPolicy": _("restarts: they are watched for crashes"),
}
"""Field of a pod -> what a site would give away, or whose own trait it belongs in."""

CONTAINER_FIELDS = {
    "resources": _("CPU, memory or devices: a server gets what was granted"),
    "securityContext": _("rights: `container_security_context` is for those"),
    "image": _("the image: the project pins it"),
    "imagePullPolicy": _("the image: the project pins it"),
    "env": _("variables: `environment` is for those"),
    "volumeMounts": _("volumes: the trait `volume_mounts` is for those"),
    "volumeDevices": _("volumes: the trait `volume_mounts` is for those"),
    "ports": _("ports: the hub finds the server by its own"),
    "name": _("the name of the container"),
}

SECURITY_FIELDS = ("privileged", "procMount", "windowsOptions", "sysctls", "hostProcess")
"""Fields of a security context that are left out whatever they say."""


def camel(name: str) -> str:
    """Name a field as Kubernetes does, where a site wrote it as Python does."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def on_the_machine(volume: Mapping[str, Any]) -> bool:
    """Whether a volume is a path of the machine below."""
    return any(camel(key) == "hostPath" for key in volume)


def safe_volumes(volumes: Sequence[Mapping[str, Any]], notes: Notes) -> list[Mapping[str, Any]]:
    """Keep volumes that are none of the machine's own paths."""
    for one in volumes:
        if on_the_machine(one):
            notes.append(
                _("volumes: {name}: no server sees a path of its machine").format(
                    name=one.get("name")
                )
            )
    return [one for one in volumes if not on_the_machine(one)]


def safe_mounts(
    mounts: Sequence[Mapping[str, Any]], volumes: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Keep mounts whose volume is kept."""
    lost = {one.get("name") for one in volumes if on_the_machine(one)}
    return [one for one in mounts if one.get("name") not in lost]


def safe_pod_config(config: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """Keep fields of a pod that give nothing away; tolerations have a trait of their own."""
    return _kept(config, POD_FIELDS, "extra_pod_config", notes)


def safe_container_config(config: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """Keep fields of the server's container that give nothing away."""
    return _kept(config, CONTAINER_FIELDS, "extra_container_config", notes)


def _kept(
    config: Mapping[str, Any], fields: Mapping[str, str], trait: str, notes: Notes
) -> dict[str, Any]:
    for key in config:
        if camel(key) in fields:
            notes.append(f"{trait}: {key}: {fields[camel(key)]}")
    return {key: value for key, value in config.items() if camel(key) not in fields}


def safe_security(site: Mapping[str, Any], trait: str, notes: Notes) -> dict[str, Any]:
    """Keep what a site says of rights, as far as it takes some away."""
    config = site.get(trait)
    if callable(config):
        notes.append(_("{trait}: a function is not called here").format(trait=trait))
        return {}
    kept = {}
    for key, value in (config or {}).items():
        root = camel(key) in ("runAsUser", "runAsGroup") and value == 0
        if root or camel(key) in SECURITY_FIELDS:
            notes.append(_("{trait}: {key}: no server has that").format(trait=trait, key=key))
        else:
            kept[camel(key)] = value
    return kept


def safe_containers(
    containers: Sequence[Mapping[str, Any]], trait: str, notes: Notes
) -> list[dict[str, Any]]:
    """Keep a site's further containers under the same rights as the server, without devices.

    One that needs more rights than `restricted` allows is left out: the pod would be refused.
    """
    kept = []
    for one in containers:
        rights = {camel(key): value for key, value in _rights(one).items()}
        added = (rights.get("capabilities") or {}).get("add")
        if rights.get("privileged") or added or rights.get("runAsUser") == 0:
            notes.append(
                _("{trait}: {name}: it wants rights that no pod of servers has").format(
                    trait=trait, name=one.get("name")
                )
            )
            continue
        kept.append(_restricted(one, rights))
    return kept


def _rights(container: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (
        container.get("securityContext") or container.get("security_context") or {}
    )
    return found


def _restricted(container: Mapping[str, Any], rights: Mapping[str, Any]) -> dict[str, Any]:
    made = {camel(key): value for key, value in container.items()}
    made["securityContext"] = {
        **rights,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    resources = made.get("resources") or {}
    made["resources"] = {
        kind: {name: value for name, value in (figures or {}).items() if "/" not in name}
        for kind, figures in resources.items()
        if kind in ("limits", "requests")
    }
    return made
