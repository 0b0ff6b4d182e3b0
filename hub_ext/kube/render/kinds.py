"""Kinds of object that are rendered: where the API serves them, and in which order they are made.

What is rendered and what is pruned are the same kinds; any other kind is never touched.
"""

from typing import Any, NamedTuple

__all__ = ["KINDS", "Kind", "Manifest", "kind_of", "of_kueue", "place_of", "rank"]

Manifest = dict[str, Any]
"""One object as the API takes it."""


class Kind(NamedTuple):
    """A kind: its API version, its plural in addresses, and whether it lies in a namespace."""

    version: str
    plural: str
    namespaced: bool = False

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Give the address of one object, of all in a namespace, or of all."""
        top = "api" if "/" not in self.version else "apis"
        inside = f"namespaces/{namespace}/" if self.namespaced and namespace else ""
        last = f"/{name}" if name else ""
        return f"/{top}/{self.version}/{inside}{self.plural}{last}"


_KUEUE = "kueue.x-k8s.io/v1beta2"
_RIGHTS = "rbac.authorization.k8s.io/v1"
_ADMISSION = "admissionregistration.k8s.io/v1"

KINDS: dict[str, Kind] = {
    "Namespace": Kind("v1", "namespaces"),
    "PriorityClass": Kind("scheduling.k8s.io/v1", "priorityclasses"),
    "ServiceAccount": Kind("v1", "serviceaccounts", namespaced=True),
    "ClusterRole": Kind(_RIGHTS, "clusterroles"),
    "ClusterRoleBinding": Kind(_RIGHTS, "clusterrolebindings"),
    "Role": Kind(_RIGHTS, "roles", namespaced=True),
    "RoleBinding": Kind(_RIGHTS, "rolebindings", namespaced=True),
    "ResourceQuota": Kind("v1", "resourcequotas", namespaced=True),
    "LimitRange": Kind("v1", "limitranges", namespaced=True),
    "NetworkPolicy": Kind("networking.k8s.io/v1", "networkpolicies", namespaced=True),
    "ValidatingAdmissionPolicy": Kind(_ADMISSION, "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": Kind(_ADMISSION, "validatingadmissionpolicybindings"),
    "ConfigMap": Kind("v1", "configmaps", namespaced=True),
    "ResourceFlavor": Kind(_KUEUE, "resourceflavors"),
    "WorkloadPriorityClass": Kind(_KUEUE, "workloadpriorityclasses"),
    "Cohort": Kind(_KUEUE, "cohorts"),
    "ClusterQueue": Kind(_KUEUE, "clusterqueues"),
    "LocalQueue": Kind(_KUEUE, "localqueues", namespaced=True),
    "DaemonSet": Kind("apps/v1", "daemonsets", namespaced=True),
    "ServiceMonitor": Kind("monitoring.coreos.com/v1", "servicemonitors", namespaced=True),
    "Service": Kind("v1", "services", namespaced=True),
    "Deployment": Kind("apps/v1", "deployments", namespaced=True),
}
"""By name, in the order of making: what others lie in, name or obey comes first."""

_RANKS = {name: number for number, name in enumerate(KINDS)}


def kind_of(manifest: Manifest) -> Kind:
    """Look up the kind of an object."""
    return KINDS[str(manifest["kind"])]


def of_kueue(manifest: Manifest) -> bool:
    """Whether an object is of a kind that only Kueue brings."""
    return kind_of(manifest).version == _KUEUE


def rank(manifest: Manifest) -> tuple[int, str, str]:
    """Give an object's place among all: by kind, namespace and name, so that output is stable."""
    _kind, namespace, name = place_of(manifest)
    return _RANKS[str(manifest["kind"])], namespace, name


def place_of(manifest: Manifest) -> tuple[str, str, str]:
    """Name an object: kind, namespace (empty where it lies in none) and name."""
    about = manifest["metadata"]
    return str(manifest["kind"]), str(about.get("namespace", "")), str(about["name"])
