"""Who may write Workloads, by a cluster's roles: only governor and Kueue should. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from .objects import GROUP, PLURAL, Body

_WRITING = frozenset({"create", "update", "patch", "delete", "deletecollection", "*"})
_SUPERUSERS = frozenset({"system:masters"})
"""They may do everything to everything; no role could keep them out."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles and bindings of a cluster, as the API lists them."""

    cluster_roles: tuple[Body, ...] = ()
    roles: tuple[Body, ...] = ()
    cluster_bindings: tuple[Body, ...] = ()
    bindings: tuple[Body, ...] = ()


def writers(roles: Roles, namespaces: frozenset[str]) -> frozenset[str]:
    """Name everybody who may write Workloads in one of these namespaces, as the server does."""
    everywhere = {_name(one) for one in roles.cluster_roles if _writes(one)}
    inside = {(_namespace(one), _name(one)) for one in roles.roles if _writes(one)}
    found: set[str] = set()
    for binding in roles.cluster_bindings:
        if (binding.get("roleRef") or {}).get("name") in everywhere:
            found.update(_subjects(binding))
    for binding in roles.bindings:
        where, role = _namespace(binding), binding.get("roleRef") or {}
        named = str(role.get("name", ""))
        grants = (
            named in everywhere if role.get("kind") == "ClusterRole" else (where, named) in inside
        )
        if where in namespaces and grants:
            found.update(_subjects(binding))
    return frozenset(found - _SUPERUSERS)


def _writes(role: Body) -> bool:
    return any(
        _has(rule.get("apiGroups"), {GROUP, "*"})
        and _has(rule.get("resources"), {PLURAL, f"{PLURAL}/status", "*"})
        and _has(rule.get("verbs"), _WRITING)
        for rule in role.get("rules") or []
    )


def _has(found: list[str] | None, wanted: frozenset[str] | set[str]) -> bool:
    return not wanted.isdisjoint(found or [])


def _subjects(binding: Body) -> Iterator[str]:
    for one in binding.get("subjects") or []:
        name = str(one.get("name", ""))
        if one.get("kind") == "ServiceAccount":
            name = f"system:serviceaccount:{one.get('namespace') or _namespace(binding)}:{name}"
        yield name


def _name(body: Body) -> str:
    return str((body.get("metadata") or {}).get("name", ""))


def _namespace(body: Body) -> str:
    return str((body.get("metadata") or {}).get("namespace", ""))
