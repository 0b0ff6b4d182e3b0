"""Label selectors of Kubernetes, evaluated here: which namespaces does a rule mean? Pure."""

from collections.abc import Mapping

from .objects import Body

NAME_LABEL = "kubernetes.io/metadata.name"
"""Label that every namespace carries with its own name."""


def selects(selector: Body | None, labels: Mapping[str, str]) -> bool:
    """Whether labels match; no selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    exact = selector.get("matchLabels") or {}
    rules = selector.get("matchExpressions") or []
    return all(labels.get(key) == value for key, value in exact.items()) and all(
        _holds(rule, labels) for rule in rules
    )


def _holds(rule: Body, labels: Mapping[str, str]) -> bool:
    found, values = labels.get(rule.get("key", "")), rule.get("values") or []
    match rule.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case _:
            return False


def labels_of(namespace: Body) -> dict[str, str]:
    """Labels of a namespace, with its name as the API server adds it."""
    meta = namespace.get("metadata") or {}
    return {**(meta.get("labels") or {}), NAME_LABEL: str(meta.get("name", ""))}
