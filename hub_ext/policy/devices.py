"""A project with devices of its own gets no others, whatever its people ask for."""

from ..errors import RefusedError
from ..i18n import _
from .model import Policy, flavor_name


def unlisted(
    policy: Policy, project: str | None, pool: str, flavor: str, alone: str | None
) -> RefusedError | None:
    """Say why a project may not have a flavor of a pool, or more of a GPU or machine alone.

    None where it has no devices of its own, or where these are they.
    """
    rules = policy.projects.get(project or "")
    pin = None if rules is None else rules.device
    if pin is None or ((pin.pool, pin.flavor) == (pool, flavor) and alone is None):
        return None
    titles = [
        profile.title
        for profile in policy.profiles.values()
        if profile.pool == pin.pool and flavor_name(profile.flavor) == pin.flavor
    ]
    message = _(
        "The project {project} has devices of its own, {flavor} in pool {pool}, and its servers "
        "with a GPU get nothing else, nor more of a GPU or machine alone. Choose one of: "
        "{profiles}."
    ).format(project=project, flavor=pin.flavor, pool=pin.pool, profiles=", ".join(titles))
    return RefusedError(
        "device-pinned",
        message,
        figures={"project": str(project), "pool": pin.pool, "flavor": pin.flavor},
    )
