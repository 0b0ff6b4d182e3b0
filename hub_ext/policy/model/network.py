"""What the servers of a project reach on Kubernetes, and what reaches them."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, StringConstraints, WithJsonSchema, model_validator

from ..words import Flag, Part
from .kube import ObjectName


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

Rate = Annotated[
    str,
    StringConstraints(pattern=r"^[1-9][0-9]{0,5}[kMG]$"),
    WithJsonSchema({"type": "string", "examples": ["2G", "500M"]}),
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
    fabric: Literal["rdma"] | None = None
    """`rdma`: servers with whole GPUs in a pool that has `rdma` get a device of its fabric. What
    shares a GPU gets none, as the fabric knows no bounds within a machine."""
    security_exception: Literal["IPC_LOCK"] | None = None
    """What `fabric` needs beyond the Pod Security level `restricted`: to lock memory in place. The
    project's namespace is rendered with level `privileged` then, and with an admission policy that
    refuses all else that `restricted` refuses. Absent means that nothing is excepted."""
    secondary: ObjectName | None = None
    """Name of a NetworkAttachmentDefinition (Multus) in the project's namespace: its servers get an
    interface of that network too. `reach`, `internet` and `cidrs` do not hold there."""


class Bandwidth(Part):
    """How fast a server may talk to the network, where the cluster's network plugin obeys it."""

    ingress: Rate | None = None
    """Most bits a second that come to it, for example `2G`; absent means no limit."""
    egress: Rate | None = None
    """Most bits a second that it sends, for example `500M`; absent means no limit."""

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.ingress is None and self.egress is None:
            raise ValueError(
                "this limits nothing; give `ingress`, `egress` or both, or leave it out"
            )
        return self


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
