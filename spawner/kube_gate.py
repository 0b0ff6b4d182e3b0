"""The last look at a pod before it is asked for: whether a site's own hook gave more than granted.

Pure. What is found is refused rather than mended, as nobody knows what else the hook relies on.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hub_ext.errors import RefusedError
from hub_ext.i18n import _
from hub_ext.lease import PodTerms

Manifest = Mapping[str, Any]

HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "nodeName", "resourceClaims")
OURS = "gpu-commons.dev/"
"""Labels that say what a lease is; they decide on networks and queues."""
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
VOID = "void"
SERVER = "notebook"
"""KubeSpawner's name of the container that is the server."""


def check_pod(manifest: Manifest, terms: PodTerms) -> None:
    """Refuse a pod that holds more than was granted.

    Parameters
    ----------
    manifest
        The pod as JSON that is about to be created.

    Raises
    ------
    RefusedError
        Names everything that is too much.
    """
    found = list(dict.fromkeys(_faults(manifest, terms)))
    if not found:
        return
    raise RefusedError(
        "more-than-granted",
        _(
            "The hub's own settings (such as modify_pod_hook) would give this server more than was "
            "granted: {what}. Nothing was started. Tell an administrator of the hub."
        ).format(what=", ".join(found)),
    )


def _faults(manifest: Manifest, terms: PodTerms) -> Iterator[str]:
    spec: Mapping[str, Any] = manifest.get("spec") or {}
    labels = (manifest.get("metadata") or {}).get("labels") or {}
    # Others are KubeSpawner's as well: it says of every pod that it manages it.
    ours = {name: value for name, value in terms.labels.items() if name.startswith(OURS)}
    if any(labels.get(name) != value for name, value in ours.items()):
        yield _("labels of another lease")
    yield from (name for name in HOST_FIELDS if spec.get(name))
    if spec.get("serviceAccountName") or spec.get("automountServiceAccountToken") is not False:
        yield _("an account of the cluster")
    for volume in spec.get("volumes") or ():
        if volume.get("hostPath"):
            yield "hostPath {}".format(volume["hostPath"].get("path"))
        if any("serviceAccountToken" in one for one in _sources(volume)):
            yield _("an account of the cluster")
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        yield from _rights(container, terms)
        yield from _devices(container, terms)


def _sources(volume: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    sources: Sequence[Mapping[str, Any]] = (volume.get("projected") or {}).get("sources") or ()
    return sources


def _rights(container: Mapping[str, Any], terms: PodTerms) -> Iterator[str]:
    rights = container.get("securityContext") or {}
    if rights.get("privileged") or rights.get("allowPrivilegeEscalation") is not False:
        yield _("rights of the machine's administrator")
    granted = terms.capabilities if container.get("name") == SERVER else ()
    added = [
        one for one in (rights.get("capabilities") or {}).get("add") or () if one not in granted
    ]
    if added:
        yield "capabilities {}".format(", ".join(added))


def _devices(container: Mapping[str, Any], terms: PodTerms) -> Iterator[str]:
    is_server = container.get("name") == SERVER
    granted = {terms.resource_name: str(terms.resource_count)} if is_server else {}
    if is_server and terms.fabric_resource is not None:
        granted[terms.fabric_resource] = "1"
    resources = container.get("resources") or {}
    for kind in ("limits", "requests"):
        for name, count in (resources.get(kind) or {}).items():
            if "/" in name and granted.get(name) != str(count):
                yield f"{count} {name}"
    if not is_server:
        return
    if terms.image is not None and container.get("image") != terms.image:
        yield _("another image than the pinned one")
    seen = {one.get("name"): one.get("value") for one in container.get("env") or ()}
    if terms.resource_name is None and seen.get(VISIBLE) != VOID:
        yield _("every GPU of the machine")
    if terms.resource_name is not None and VISIBLE in seen:
        yield _("GPUs of its own choice")
