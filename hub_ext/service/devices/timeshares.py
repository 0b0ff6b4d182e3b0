"""What an agent reads of a GPU that several have in turns, told of each of its time-shares.

The driver knows the GPU alone: its figures are those of all who have it, and a fault is a fault of
each. It decides nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from ...lease import Device, DeviceHealth, DeviceId, DeviceSample, SampleBatch

Read = TypeVar("Read", DeviceSample, DeviceHealth)


def told_apart(batch: SampleBatch, usable: Iterable[Device]) -> SampleBatch:
    """Give the batch in which each time-share stands for itself.

    Parameters
    ----------
    usable
        Devices in use by the policy; only time-shares of a GPU that the batch names matter.
    """
    shares = _by_gpu(one for one in usable if one.node == batch.node)
    if not shares:
        return batch
    inventory = batch.inventory
    if inventory is not None:
        apart = (each for one in inventory.devices for each in shares.get(one.id, [one]))
        inventory = inventory.model_copy(update={"devices": tuple(apart)})
    return batch.model_copy(
        update={
            "devices": tuple(_each(batch.devices, shares)),
            "health": tuple(_each(batch.health, shares)),
            "inventory": inventory,
        }
    )


def each_share(batch: SampleBatch, held: Iterable[Device]) -> SampleBatch:
    """Add a sample for each time-share that a server holds on Kubernetes, beside its GPU's own.

    There the policy declares places, and which GPU's share it is comes from the kubelet alone.
    """
    named = {one.device for one in batch.devices}
    shares = _by_gpu(one for one in held if one.id not in named)
    more = [one for one in batch.devices if one.device in shares]
    if not more:
        return batch
    return batch.model_copy(update={"devices": (*batch.devices, *_each(more, shares))})


def _by_gpu(devices: Iterable[Device]) -> dict[DeviceId, list[Device]]:
    """Pick the time-shares, by the id under which the driver knows their GPU."""
    shares: dict[DeviceId, list[Device]] = defaultdict(list)
    for device in devices:
        if device.shared_by is not None:
            shares[device.driver_id].append(device)
    return shares


def _each(read: Iterable[Read], shares: Mapping[DeviceId, list[Device]]) -> Iterable[Read]:
    for one in read:
        if one.device in shares:
            yield from (one.model_copy(update={"device": each.id}) for each in shares[one.device])
        else:
            yield one
