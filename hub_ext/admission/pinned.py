"""A project with devices of its own gets no others: whatever else it asks for is refused."""

from ..i18n import _
from ..policy.model import flavor_name
from .decision import Denied
from .owned import pin_of
from .reasons import refuse
from .snapshot import Demand, Scene


def unlisted(scene: Scene, demand: Demand) -> Denied | None:
    """Refuse a project with devices of its own what is of another kind or in another pool."""
    pin = pin_of(scene, demand.project)
    if pin is None or (pin.pool == demand.pool and pin.flavor == demand.flavor):
        return None
    titles = [
        profile.title
        for profile in scene.policy.profiles.values()
        if profile.pool == pin.pool and flavor_name(profile.flavor) == pin.flavor
    ]
    message = _(
        "The project {project} has devices of its own, {flavor} in pool {pool}, and its servers "
        "with a GPU get nothing else. Choose one of: {profiles}."
    ).format(project=demand.project, flavor=pin.flavor, pool=pin.pool, profiles=", ".join(titles))
    return refuse(
        "device-pinned",
        message,
        {"project": str(demand.project), "pool": pin.pool, "flavor": pin.flavor},
    )
