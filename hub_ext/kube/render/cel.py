"""Expressions of Kubernetes' policy language (CEL) from small parts with names."""

from collections.abc import Iterable

__all__ = ["asks_gpu", "either", "is_one_of", "labels_of", "quoted", "unchanged"]

_DEVICES = ("nvidia.com/", "deviceclass.resource.kubernetes.io/")
"""Beginnings of resource names that give a GPU, by a device plugin or by DRA."""


def quoted(text: str) -> str:
    """Write text as CEL has it; nothing in it can end it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def either(*expressions: str) -> str:
    """Join by or; none of none holds."""
    return " || ".join(f"({one})" for one in expressions if one) or "false"


def is_one_of(names: Iterable[str], groups: Iterable[str] = ()) -> str:
    """Whether the request comes from one of these users, or from a member of one of the groups."""
    listed = ", ".join(quoted(one) for one in names)
    grouped = ", ".join(quoted(one) for one in groups)
    return either(
        f"request.userInfo.username in [{listed}]" if listed else "",
        f"has(request.userInfo.groups) && request.userInfo.groups.exists(g, g in [{grouped}])"
        if grouped
        else "",
    )


def labels_of(holder: str) -> str:
    """Give the labels of what has metadata, or no labels."""
    return (
        f"has({holder}.metadata) && has({holder}.metadata.labels) ? {holder}.metadata.labels : {{}}"
    )


def unchanged(prefix: str, labels: str = "variables.labels", old: str = "variables.old") -> str:
    """Whether all labels of a domain are as they were, neither more nor fewer nor others."""
    start = quoted(prefix)
    return (
        f"{labels}.all(k, !k.startsWith({start}) || (k in {old} && {old}[k] == {labels}[k])) && "
        f"{old}.all(k, !k.startsWith({start}) || k in {labels})"
    )


def asks_gpu(spec: str) -> str:
    """Whether a pod's specification asks for a GPU in any container, or claims a device."""
    parts = [_some(f"{spec}.containers")]
    parts.append(f"has({spec}.initContainers) && {_some(f'{spec}.initContainers')}")
    return either(*parts, f"has({spec}.resourceClaims) && size({spec}.resourceClaims) > 0")


def _some(containers: str) -> str:
    begins = " || ".join(f"k.startsWith({quoted(one)})" for one in _DEVICES)
    asked = " || ".join(
        f"(has(c.resources.{part}) && c.resources.{part}.exists(k, {begins}))"
        for part in ("limits", "requests")
    )
    return f"{containers}.exists(c, has(c.resources) && ({asked}))"
