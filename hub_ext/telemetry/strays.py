"""Processes on a node's devices that no open lease of that device accounts for.

What cannot be told is left out: a process whose environment may not be read, a device whose holder
is not known. On Kubernetes a device that some container holds is that container's affair.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from ..lease import (
    DeviceHolding,
    LeaseId,
    StrayProcess,
    WatchList,
    gpu_of,
)
from .sample import DeviceProcess


class Whose(NamedTuple):
    """Whose a process is: `lease` is None for one of no lease at all."""

    lease: LeaseId | None


def strays(
    found: Iterable[DeviceProcess],
    whose: Callable[[int], Whose | None],
    watch: WatchList,
    holdings: Collection[DeviceHolding] | None,
) -> tuple[StrayProcess, ...]:
    """Pick the processes that are on a device without a lease of it.

    Parameters
    ----------
    found
        What the driver lists on the node's devices.
    whose
        Says whose a process is; None where that cannot be told.
    watch
        The open leases of the node, with their devices.
    holdings
        Devices that containers hold; None where servers are no containers.
    """
    leases = {item.lease_id: {gpu_of(one) for one in item.devices} for item in watch.leases}
    contained = {gpu_of(one.device) for one in holdings or ()}
    told = []
    for one in found:
        if gpu_of(one.device) in contained or (of := whose(one.pid)) is None:
            continue
        if of.lease in leases and gpu_of(one.device) in leases[of.lease]:
            continue
        told.append(
            StrayProcess(
                device=one.device,
                pid=one.pid,
                memory_bytes=one.memory_bytes,
                lease_id=of.lease,
            )
        )
    return tuple(told)
