"""Least rights: what governor and hub may do, and where. The agent needs none at all.

The hub's own service account is the chart's; only rights beyond the hub's namespace are given it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ...policy.model import Policy
from .homes import Home, homes
from .kinds import Manifest
from .marks import manifest
from .site import Site

__all__ = ["GOVERNOR", "HUB", "rights"]

GOVERNOR, HUB = "gpu-commons-governor", "gpu-commons-hub"
"""Names of the roles and of their bindings."""

_GROUP = "rbac.authorization.k8s.io"
_KUEUE = "kueue.x-k8s.io"
_SEE = ("get", "list", "watch")

Rule = dict[str, Any]

SEES: tuple[Rule, ...] = (
    {
        "apiGroups": [_KUEUE],
        "resources": ["clusterqueues", "cohorts", "localqueues", "resourceflavors", "workloads"],
        "verbs": list(_SEE),
    },
    {"apiGroups": [""], "resources": ["nodes"], "verbs": list(_SEE)},
)
"""What the governor looks at in the whole cluster: queues, jobs of others, and what nodes offer."""

DECIDES: tuple[Rule, ...] = (
    {"apiGroups": [_KUEUE], "resources": ["workloads"], "verbs": ["create", "patch", "delete"]},
    {"apiGroups": [_KUEUE], "resources": ["workloads/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": [*_SEE, "delete"]},
)
"""What it changes where servers run: leases as Workloads; a server that has no lease is stopped."""

STARTS: tuple[Rule, ...] = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": [*_SEE, "create", "delete"]},
    {
        "apiGroups": [""],
        "resources": ["persistentvolumeclaims"],
        # Nothing deletes a volume with people's files.
        "verbs": [*_SEE, "create"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": list(_SEE)},
)
"""What the hub's spawner does there."""


def rights(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render the governor's service account, and roles with their bindings."""
    yield manifest("ServiceAccount", site.governor, {}, namespace=site.hub_namespace)
    governor = _subject(site, site.governor)
    yield manifest("ClusterRole", GOVERNOR, {"rules": list(SEES)})
    body = {"roleRef": _role("ClusterRole", GOVERNOR), "subjects": [governor]}
    yield manifest("ClusterRoleBinding", GOVERNOR, body)
    places: dict[str, Home | None] = {home.namespace: home for home in homes(policy, site)}
    if site.namespace is not None:
        places = dict.fromkeys(places)
    for namespace, home in places.items():
        yield from _given(GOVERNOR, DECIDES, governor, namespace, home)
        if namespace != site.hub_namespace:
            yield from _given(HUB, STARTS, _subject(site, site.hub), namespace, home)


def _given(
    name: str, rules: Sequence[Rule], subject: Rule, namespace: str, home: Home | None
) -> Iterator[Manifest]:
    labels = {} if home is None else home.labels
    role = {"rules": list(rules)}
    yield manifest("Role", name, role, namespace=namespace, labels=labels)
    body = {"roleRef": _role("Role", name), "subjects": [subject]}
    yield manifest("RoleBinding", name, body, namespace=namespace, labels=labels)


def _role(kind: str, name: str) -> Rule:
    return {"apiGroup": _GROUP, "kind": kind, "name": name}


def _subject(site: Site, name: str) -> Rule:
    return {"kind": "ServiceAccount", "name": name, "namespace": site.hub_namespace}
