"""How the GPUs of one node are joined, from NVML's word on each pair; asked once a discovery.

Pairs become groups, so that a choice needs no table of pairs. What the driver does not tell is
unknown, and then no set of GPUs is better than another.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pynvml

from ..lease import Wired

Handles = Mapping[int, Any]
"""Handle of each whole GPU by its index."""

_SWITCH = pynvml.NVML_TOPOLOGY_MULTIPLE
_BRIDGE = pynvml.NVML_TOPOLOGY_HOSTBRIDGE
_SOCKET = pynvml.NVML_TOPOLOGY_NODE


def wired(handles: Handles) -> dict[int, Wired]:
    """Group the GPUs of a node; those about which the driver tells nothing are left out."""
    levels: dict[tuple[int, int], int] = {}
    linked: set[tuple[int, int]] = set()
    told: set[int] = set()
    for one, other in combinations(sorted(handles), 2):
        try:
            levels[one, other] = int(
                pynvml.nvmlDeviceGetTopologyCommonAncestor(handles[one], handles[other])
            )
        except pynvml.NVMLError:
            continue
        told |= {one, other}
        if _nvlink(handles[one], handles[other]):
            linked.add((one, other))
    return grouped(sorted(told), levels, linked)


def grouped(
    gpus: Sequence[int], levels: Mapping[tuple[int, int], int], linked: set[tuple[int, int]]
) -> dict[int, Wired]:
    """Make groups of pairs; numbers are those of the first GPU of each group.

    Parameters
    ----------
    levels
        NVML's level of the common ancestor of each pair, the smaller index first; of a pair that is
        not here the driver told nothing: it is in no group together, and neither known to be apart.
    linked
        Pairs that NVLink joins.
    """

    def below(most: int) -> Callable[[int, int], bool]:
        return lambda one, other: levels.get((one, other), most + 1) <= most

    switch, bridge, socket = (_groups(gpus, below(most)) for most in (_SWITCH, _BRIDGE, _SOCKET))
    nvlink = _groups(gpus, lambda one, other: (one, other) in linked)
    sizes = [list(nvlink.values()).count(nvlink[gpu]) for gpu in gpus]
    return {
        gpu: Wired(
            nvlink=nvlink[gpu] if size > 1 else None,
            switch=switch[gpu],
            bridge=bridge[gpu],
            socket=socket[gpu],
            untold=tuple(
                one for one in gpus if one != gpu and (min(one, gpu), max(one, gpu)) not in levels
            ),
        )
        for gpu, size in zip(gpus, sizes, strict=True)
    }


def _groups(gpus: Sequence[int], joined: Callable[[int, int], bool]) -> dict[int, int]:
    """Give each GPU the first group with every member of which it is joined, else one of its own.

    Pair by pair, since two GPUs that are joined to a third need not be joined to each other.
    """
    members: dict[int, list[int]] = {}
    group_of: dict[int, int] = {}
    for gpu in gpus:
        for first, others in members.items():
            if all(joined(min(one, gpu), max(one, gpu)) for one in others):
                others.append(gpu)
                group_of[gpu] = first
                break
        else:
            members[gpu] = [gpu]
            group_of[gpu] = gpu
    return group_of


def _nvlink(one: Any, other: Any) -> bool:  # noqa: ANN401 - ctypes handles
    try:
        status = pynvml.nvmlDeviceGetP2PStatus(one, other, pynvml.NVML_P2P_CAPS_INDEX_NVLINK)
    except pynvml.NVMLError:
        return False
    return bool(int(status) == pynvml.NVML_P2P_STATUS_OK)
