"""Where leases live: a namespace for each project, and for each team that has none."""

from typing import NamedTuple

from ...policy.model import Policy
from .. import names
from ..podterms import place_of
from .site import Site

__all__ = ["Home", "homes", "namespaces", "teams_alone"]


class Home(NamedTuple):
    """Where the leases of a project, or of a team without projects, live and ask."""

    team: str
    project: str | None
    namespace: str
    local_queue: str
    cluster_queue: str

    @property
    def labels(self) -> dict[str, str]:
        """Label what lies there with whose it is."""
        named = {names.LABEL_TEAM: self.team, names.LABEL_PROJECT: self.project}
        return {key: names.label_value(value) for key, value in named.items() if value}


def homes(policy: Policy, site: Site) -> tuple[Home, ...]:
    """List all homes, in the policy's order: projects, then teams without any."""
    found = [
        _home(policy, project.team, name, site)
        for name, project in policy.projects.items()
        if project.team in policy.teams
    ]
    return (*found, *(_home(policy, team, None, site) for team in teams_alone(policy)))


def _home(policy: Policy, team: str, project: str | None, site: Site) -> Home:
    place = place_of(policy, team, project, site.namespace)
    return Home(team, project, place.namespace, place.local_queue, place.cluster_queue)


def teams_alone(policy: Policy) -> tuple[str, ...]:
    """Teams without a project: their quota lies in one queue of their own."""
    with_projects = {project.team for project in policy.projects.values()}
    return tuple(team for team in policy.teams if team not in with_projects)


def namespaces(policy: Policy, site: Site) -> tuple[str, ...]:
    """Every namespace in which servers run, once."""
    return tuple(sorted({home.namespace for home in homes(policy, site)}))
