"""What the machines of a cluster offer, as their kubelets say it: the second source of truth.

A device plugin that has found fewer GPUs than there are, or another cut, shows here first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import UnitError
from .api import Api
from .paging import listed
from .quantity import whole

_PATH = "/api/v1/nodes"
_PREFIX = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """One machine: whether pods may start there, and how many devices of each name it offers."""

    name: str
    ready: bool
    devices: Mapping[str, int]


async def offers(api: Api) -> tuple[NodeOffer, ...]:
    """Read every machine.

    Raises
    ------
    UnreachableError
        When the API server does not answer.
    RefusedError
        When machines may not be read.
    """
    return tuple(offer_of(one) for one in await listed(api, _PATH))


def offer_of(body: dict[str, Any]) -> NodeOffer:
    """Read one machine; what is no whole number of devices counts as none."""
    status, spec = body.get("status") or {}, body.get("spec") or {}
    stands = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    counts = {}
    for name, text in (status.get("allocatable") or {}).items():
        if name.startswith(_PREFIX):
            counts[name] = _count(text)
    ready = stands.get("Ready") == "True" and not spec.get("unschedulable")
    return NodeOffer(body["metadata"]["name"], ready, counts)


def _count(text: object) -> int:
    try:
        return whole(str(text))
    except UnitError:
        return 0
