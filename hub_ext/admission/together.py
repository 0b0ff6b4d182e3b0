"""Who may be on one GPU with whom: time-shares of a GPU go to leases of one team at a time.

Nothing keeps the memory of time-shares apart, so that another team is never let in.
"""

from collections.abc import Collection, Iterable, Sequence

from ..lease import Device, DeviceId, LeaseId
from .snapshot import Demand, Scene


def barred(
    devices: Sequence[Device], holders: Iterable[tuple[str, Sequence[Device]]], team: str
) -> frozenset[DeviceId]:
    """Give the time-shares that a team may not have, as another has the same GPU.

    Parameters
    ----------
    holders
        Team and devices of each lease.
    """
    foreign = {
        (device.node, device.gpu)
        for owner, held in holders
        if owner != team
        for device in held
        if device.shared_by is not None
    }
    return frozenset(
        device.id
        for device in devices
        if device.shared_by is not None and (device.node, device.gpu) in foreign
    )


def barred_in(scene: Scene, demand: Demand, gone: Collection[LeaseId] = ()) -> frozenset[DeviceId]:
    """Give the same for one request; leases `gone` have ended."""
    holders = [(str(one.team), one.takes) for one in scene.holding if one.id not in gone]
    holders += [(other.team, devices) for other, devices in scene.taken]
    return barred(scene.devices, holders, demand.team)
