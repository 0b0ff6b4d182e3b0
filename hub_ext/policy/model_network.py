"""What the servers of a project reach on Kubernetes, and what reaches them."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator, WithJsonSchema

from .words import Flag, Part


def _cidr(text: str) -> str:
    try:
        found = ip_network(text)
    except ValueError:
        found = None
    # Written as Kubernetes compares it: with its prefix, and in one way only.
    if found is None or str(found) != text:
        raise ValueError(
            f"{text[:80]!r} is no network; write for example '10.20.0.0/16', with zeros behind "
            "the prefix, or '192.0.2.7/32' for one address"
        )
    return text


Cidr = Annotated[
    str,
    AfterValidator(_cidr),
    WithJsonSchema({"type": "string", "examples": ["10.20.0.0/16"]}),
]

METADATA = tuple(
    ip_network(text)
    for text in (
        "169.254.0.0/16",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
        "fe80::/10",
        "fd00:ec2::254/128",
        "fd20:ce::254/128",
        "64:ff9b::a9fe:0/112",
    )
)
"""Where clouds tell a machine its own credentials; no server ever reaches it."""


class Network(Part):
    """What the servers of a project reach on Kubernetes, beside the hub and name service."""

    reach: Literal["isolated", "team", "open"] = "isolated"
    """Whose servers they reach, and who reaches them. `isolated`: the project's own alone. `team`:
    also those of projects of its team that are `team` or `open`. `open`: also those of every other
    project that is `open`, and every address but a cloud's metadata service. Both sides must allow
    it. Default `isolated`: data of a project stays with it unless somebody decides otherwise."""
    internet: Flag = True
    """Whether they reach public addresses. Default true: people fetch packages and data."""
    cidrs: tuple[Cidr, ...] = ()
    """Further networks that they reach, such as a data store's. Nothing there reaches them."""


def blocked(cidr: str) -> bool:
    """Whether a network lies wholly where clouds tell a machine its credentials."""
    return any(within(ip_network(cidr), one) for one in METADATA)


def within(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    """Whether a network is part of another one, or the same."""
    match inner, outer:
        case IPv4Network(), IPv4Network():
            return inner.subnet_of(outer)
        case IPv6Network(), IPv6Network():
            return inner.subnet_of(outer)
        case _:
            return False
