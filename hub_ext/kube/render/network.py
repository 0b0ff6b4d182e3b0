"""What servers reach and what reaches them, as NetworkPolicies; what none of them names is shut.

They only add to each other, so no policy of anybody else may let servers out: the values for the
chart turn off its own. Whether a cluster's network obeys them is not known here.
"""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from ...policy.model import Policy
from ...policy.model.network import METADATA, Network, within
from .. import names
from .homes import Home, homes
from .kinds import Manifest
from .marks import manifest
from .site import Site

__all__ = ["SINGLE_USER", "linked", "network"]

SINGLE_USER = {"component": "singleuser-server"}
"""Label of every server's pod, as KubeSpawner writes it."""

_PRIVATE = tuple(
    ip_network(text)
    for text in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "fc00::/7",
        "::1/128",
    )
)
_EVERYTHING = ("0.0.0.0/0", "::/0")
_HUB_PORT, _PROXY_PORTS, _SERVER_PORT, _DNS_PORT = 8081, (8000, 8443), 8888, 53
_NAMESPACE = "kubernetes.io/metadata.name"
"""Label that the API server itself writes, so that nobody can lend a namespace another's name."""

Rule = dict[str, Any]


def network(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render a NetworkPolicy for each home, and in a shared namespace one for what has none."""
    every = homes(policy, site)
    if site.namespace is not None:
        # A server that nobody labelled is no project's, and must not be the free one.
        spec = _spec({"matchLabels": SINGLE_USER}, _from_hub(site), _to_hub(site))
        yield manifest("NetworkPolicy", "gc-servers", {"spec": spec}, namespace=site.namespace)
    for home in every:
        rules = _network(policy, home)
        peers = [_peer(one, site) for one in every if linked(policy, home, one)]
        inward = [*_from_hub(site), {"from": peers}]
        outward = [*_to_hub(site), {"to": peers}, *_addresses(rules)]
        yield manifest(
            "NetworkPolicy",
            "gpu-commons" if site.namespace is None else home.cluster_queue,
            {"spec": _spec(_own(home, site), inward, outward)},
            namespace=home.namespace,
            labels=home.labels,
        )


def linked(policy: Policy, one: Home, other: Home) -> bool:
    """Whether servers of two homes reach each other: both sides must allow it."""
    return one == other or (_takes(policy, one, other) and _takes(policy, other, one))


def _takes(policy: Policy, home: Home, other: Home) -> bool:
    match _network(policy, home).reach:
        case "isolated":
            return False
        case "team":
            return home.team == other.team
        case "open":
            return True


def _network(policy: Policy, home: Home) -> Network:
    return Network() if home.project is None else policy.projects[home.project].network


def _spec(chosen: Rule, inward: Sequence[Rule], outward: Sequence[Rule]) -> Rule:
    return {
        "podSelector": chosen,
        "policyTypes": ["Ingress", "Egress"],
        "ingress": list(inward),
        "egress": list(outward),
    }


def _own(home: Home, site: Site) -> Rule:
    """Select the pods of a home: all of its namespace, or those with its labels."""
    if site.namespace is None:
        return {}
    if home.project is not None:
        return {"matchLabels": {names.LABEL_PROJECT: names.label_value(home.project)}}
    return {
        "matchLabels": {names.LABEL_TEAM: names.label_value(home.team)},
        "matchExpressions": [{"key": names.LABEL_PROJECT, "operator": "DoesNotExist"}],
    }


def _peer(home: Home, site: Site) -> Rule:
    if site.namespace is not None:
        return {"podSelector": _own(home, site)}
    return {"namespaceSelector": {"matchLabels": {_NAMESPACE: home.namespace}}}


def _from_hub(site: Site) -> list[Rule]:
    return [
        {"from": [_of_hub(site, "hub", "proxy")], "ports": [_port(site.server_port)]},
    ]


def _to_hub(site: Site) -> list[Rule]:
    names_service = {"namespaceSelector": {"matchLabels": {_NAMESPACE: "kube-system"}}}
    asked = [_port(_DNS_PORT, "UDP"), _port(_DNS_PORT)]
    nearby = [{"ipBlock": {"cidr": cidr}} for cidr in site.dns]
    return [
        {"to": [_of_hub(site, "hub")], "ports": [_port(_HUB_PORT)]},
        {"to": [_of_hub(site, "proxy")], "ports": [_port(one) for one in _PROXY_PORTS]},
        {"to": [names_service, *nearby], "ports": asked},
    ]


def _of_hub(site: Site, *components: str) -> Rule:
    parts = {"key": "component", "operator": "In", "values": list(components)}
    return {
        "namespaceSelector": {"matchLabels": {_NAMESPACE: site.hub_namespace}},
        "podSelector": {"matchLabels": {"app": "jupyterhub"}, "matchExpressions": [parts]},
    }


def _port(number: int, protocol: str = "TCP") -> Rule:
    return {"protocol": protocol, "port": number}


def _addresses(rules: Network) -> Iterator[Rule]:
    """Let out to addresses; never to those where a cloud tells a machine its credentials."""
    if rules.reach == "open":
        yield {"to": [_block(cidr, METADATA) for cidr in _EVERYTHING]}
        return
    if rules.internet:
        yield {"to": [_block(cidr, (*_PRIVATE, *METADATA)) for cidr in _EVERYTHING]}
    if rules.cidrs:
        yield {"to": [_block(cidr, METADATA) for cidr in rules.cidrs]}


def _block(cidr: str, shut: Iterable[IPv4Network | IPv6Network]) -> Rule:
    whole = ip_network(cidr)
    inside = [one for one in shut if within(one, whole) and one != whole]
    least = [
        str(one)
        for one in inside
        if not any(within(one, other) and one != other for other in inside)
    ]
    return {"ipBlock": {"cidr": cidr, **({"except": least} if least else {})}}
