"""A project with devices of its own is denied whatever else it asks for."""

from ..policy import devices
from .decision import Denied
from .reasons import refuse
from .snapshot import Demand, Scene


def unlisted(scene: Scene, demand: Demand) -> Denied | None:
    """Refuse a project with devices of its own what is of another kind or in another pool."""
    why = devices.unlisted(scene.policy, demand.project, demand.pool, demand.flavor, demand.alone)
    return None if why is None else refuse(why.code, why.message, dict(why.figures))
