"""Devices on Kubernetes: places of the declared kind on the declared machines, never a GPU by name.

Which GPU a server gets there is chosen by the device plugin of its machine. A place only says that
there is one more of a kind; agents say how many of them there really are.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

from ..lease import SHARE_MARK, Device, DeviceId, Inventory
from ..mig.placement import usable
from ..policy.model import Policy
from .config import Settings
from .floor import Floor, declared

SLOT = "slot-"
"""Begins the id of a place: the device plugin chooses the GPU, so nobody here knows its id."""

_Found = tuple[tuple[Device, ...], tuple[str, ...]]


class SlotFloor(Floor):
    """What the policy declares, no more of it on each machine than its agent finds.

    A machine whose agent has said nothing has what is declared: there the cluster's own scheduler
    knows what is free, and a server that finds no device says so.
    """

    def devices(self, policy: Policy, *, now: datetime) -> _Found:
        """Places that may be handed out, and a sentence for each that was not found."""
        return bounded(policy, self.inventories(now=now))


def bounded(policy: Policy, found: Iterable[Inventory]) -> _Found:
    """Give each declared place that is not proved to be missing."""
    there = tuple(found)
    nodes = {inventory.node for inventory in there}
    every = declared(policy)
    heard = tuple(one for one in every if one.node in nodes)
    real, drift = usable(heard, there)
    left = Counter(_kind(one) for one in real)
    places = []
    for one in every:
        if one.node in nodes:
            left[_kind(one)] -= 1
            if left[_kind(one)] < 0:
                continue
        places.append(place_of(one))
    return tuple(places), drift


def place_of(device: Device) -> Device:
    """Make the place of a declared device."""
    gpu, mark, number = device.id.partition(SHARE_MARK)
    name = f"{SLOT}{uuid5(NAMESPACE_URL, gpu)}{mark}{number}"
    return device.model_copy(update={"id": DeviceId(name), "simulated": False})


def floor_for(settings: Settings) -> Floor:
    """Give the floor of one machine's devices, or of places on Kubernetes."""
    silence = timedelta(seconds=settings.agent_silence_s)
    return SlotFloor(silence) if settings.on_kubernetes else Floor(silence)


def _kind(device: Device) -> tuple[str, str, str | None]:
    return (device.pool, device.node, device.part)
