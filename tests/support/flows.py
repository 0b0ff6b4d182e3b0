"""Who reaches whom under NetworkPolicies, by the rules that Kubernetes gives them.

An evaluator of its own, so that what is rendered is judged by what it means, not by how it looks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from hub_ext.kube.render import Manifest


@dataclass(frozen=True)
class End:
    """A pod with its labels and its namespace's, or an address outside the cluster."""

    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    address: str = ""

    @property
    def namespace_labels(self) -> Mapping[str, str]:
        return {"kubernetes.io/metadata.name": self.namespace}


def allowed(
    policies: Iterable[Manifest], source: End, target: End, port: int, protocol: str = "TCP"
) -> bool:
    """Whether a connection is let out at its source and in at its target."""
    every = [one for one in policies if one["kind"] == "NetworkPolicy"]
    return _passes(every, "Egress", source, target, port, protocol) and _passes(
        every, "Ingress", target, source, port, protocol
    )


def _passes(
    policies: list[Manifest], way: str, own: End, other: End, port: int, protocol: str
) -> bool:
    """Judge one side: a pod that no policy selects is free, else some rule must name the other."""
    selecting = [
        one["spec"]
        for one in policies
        if way in one["spec"]["policyTypes"]
        and one["metadata"]["namespace"] == own.namespace
        and _selects(one["spec"]["podSelector"], own.labels)
    ]
    if own.address or not selecting:
        return True
    field_name, side = ("egress", "to") if way == "Egress" else ("ingress", "from")
    return any(
        _names(rule.get(side), other, own.namespace) and _at(rule.get("ports"), port, protocol)
        for spec in selecting
        for rule in spec.get(field_name, ())
    )


def _names(peers: list[dict[str, Any]] | None, other: End, namespace: str) -> bool:
    # A rule without peers is for everybody, as Kubernetes reads it.
    return not peers or any(_is_peer(one, other, namespace) for one in peers)


def _is_peer(peer: dict[str, Any], other: End, namespace: str) -> bool:
    if "ipBlock" in peer:
        return bool(other.address) and _in_block(peer["ipBlock"], other.address)
    if other.address:
        return False
    if "namespaceSelector" in peer:
        if not _selects(peer["namespaceSelector"], other.namespace_labels):
            return False
    elif other.namespace != namespace:
        return False
    return _selects(peer.get("podSelector", {}), other.labels)


def _in_block(block: dict[str, Any], address: str) -> bool:
    at = ip_address(address)
    return at in ip_network(block["cidr"]) and not any(
        at in ip_network(one) for one in block.get("except", ())
    )


def _at(ports: list[dict[str, Any]] | None, port: int, protocol: str) -> bool:
    return not ports or any(
        one.get("port", port) == port and one.get("protocol", "TCP") == protocol for one in ports
    )


def _selects(selector: dict[str, Any], labels: Mapping[str, str]) -> bool:
    return all(
        labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()
    ) and all(_meets(one, labels) for one in selector.get("matchExpressions", ()))


def _meets(expression: dict[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case other:
            raise ValueError(other)
