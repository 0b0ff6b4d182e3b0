"""The core's part that shows what lies where on the GPUs, and how much of it is of no use.

Like the rest of the core: synchronous, in one thread, `now` with each call. It decides nothing.
"""

from collections.abc import Sequence
from datetime import datetime

from ...admission.asked import asked_for
from ...lease import CapacitySheet, Device, DeviceId, LeaseId, OpenLease, PoolMap, PoolName
from ...mig.fragments import fragmentation
from ...mig.mapping import gpu_maps
from ...policy.model import Policy
from ..books.desk import Desk


class CapacityCore:
    """Everything of the governor that only draws GPUs."""

    _desk: Desk

    def capacity(self, *, now: datetime) -> CapacitySheet:
        """Draw every GPU of the pools, with the leases on it."""
        desk, policy = self._desk, self._desk.book.policy
        found, drift = desk.floor.devices(policy, now=now)
        serving = desk.in_service(policy, now=now)
        with desk.turn(now) as turn:
            leases = turn.tx.leases()
        pools = tuple(pool_map(policy, name, found, serving, leases) for name in policy.pools)
        return CapacitySheet(at=now, pools=pools, drift=drift)


def pool_map(
    policy: Policy,
    name: str,
    found: Sequence[Device],
    serving: Sequence[Device],
    leases: Sequence[OpenLease],
) -> PoolMap:
    """Draw one pool.

    Parameters
    ----------
    found
        Devices that are there, of any pool.
    serving
        Those of them that may be handed out, held or not.
    leases
        All open leases.
    """
    held: dict[DeviceId, LeaseId] = {}
    there = {device.id: device for device in found if device.pool == name}
    for lease in leases:
        if lease.holding:
            held |= dict.fromkeys((device.id for device in lease.takes), lease.id)
            there |= {device.id: device for device in lease.takes if device.pool == name}
    open_ = [device for device in serving if device.pool == name]
    flavors = (lease.flavor for lease in leases if lease.open and lease.pool == name)
    asked = dict(asked_for(policy, name, flavors))
    share = fragmentation([device for device in open_ if device.id not in held], asked)
    return PoolMap(
        pool=PoolName(name),
        model=policy.pools[name].model,
        fragmentation_percent=None if share is None else int(share * 100),
        asked=asked,
        gpus=gpu_maps(there.values(), held=held, serving=frozenset(device.id for device in open_)),
    )
