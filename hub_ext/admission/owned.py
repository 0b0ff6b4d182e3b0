"""Devices that are kept for one project, as a request meets them: its own, or somebody else's."""

from ..lease import DeviceId
from ..policy.model import DevicePin
from .snapshot import Demand, Scene


def pin_of(scene: Scene, project: str | None) -> DevicePin | None:
    """What the policy keeps for a project."""
    rules = scene.policy.projects.get(project or "")
    return None if rules is None else rules.device


def foreign(scene: Scene, demand: Demand) -> frozenset[DeviceId]:
    """Give the devices of the pool that a request may not have, free or not."""
    owners = scene.snapshot.pinned
    if not owners and pin_of(scene, demand.project) is None:
        return frozenset()
    if pin_of(scene, demand.project) is None:
        return frozenset(owners)
    return frozenset(one.id for one in scene.devices if owners.get(one.id) != demand.project)


def unclean(scene: Scene, demand: Demand) -> frozenset[DeviceId]:
    """Give the devices that another team's server may have left something on.

    They come free within seconds, so nobody is called in for it: a plan takes them as free.
    """
    return frozenset(
        device for device, team in scene.snapshot.unclean.items() if team != demand.team
    )
