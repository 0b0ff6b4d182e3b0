"""A pool's levels, from its policy: the pool is the root, below it teams, below those projects.

A team that shares its quota out is a cohort: its projects are queues with their shares, and what
is not shared out belongs to the cohort. Any other team is a queue.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..policy import catalogue
from ..policy.model import Policy, Team
from ..policy.model.teams import Quota
from .quota import ROOT, Node, Quotas, reach


def team_node(team: str) -> str:
    """Node of a team that shares its quota out."""
    return f"^{team}"


def may_use(policy: Policy, team: str, pool: str) -> bool:
    """Whether a team may use a pool; neither need be in the policy any more."""
    return team in policy.teams and pool in policy.pools and catalogue.may_use(policy, team, pool)


def pool_nodes(policy: Policy, pool: str) -> dict[str, Node]:
    """Queues and cohorts of a pool below its root; only `over_quota: borrow` ever borrows."""
    nodes: dict[str, Node] = {}
    for name, team in policy.teams.items():
        if may_use(policy, name, pool):
            nodes |= _team_nodes(policy, name, team, pool)
    return nodes


def _team_nodes(policy: Policy, name: str, team: Team, pool: str) -> dict[str, Node]:
    quota = team.quota[pool]
    limit = quota.borrowing_limit if team.over_quota == "borrow" else 0
    shares = _shares(policy, name, pool)
    if not shares:
        return {name: Node(quota.nominal, None, limit, quota.lending_limit)}
    own = quota.nominal - sum(share.nominal for share in shares.values())
    above = team_node(name)
    return {
        above: Node(own, None, limit, quota.lending_limit),
        name: Node(0, above),
        **{
            _project_queue(name, project): Node(
                share.nominal, above, share.borrowing_limit, share.lending_limit
            )
            for project, share in shares.items()
        },
    }


def _shares(policy: Policy, team: str, pool: str) -> dict[str, Quota]:
    return {
        name: project.quota[pool]
        for name, project in policy.projects.items()
        if project.team == team and pool in project.quota
    }


def _project_queue(team: str, project: str) -> str:
    return f"{team}/{project}"


def queue_of(policy: Policy, team: str, project: str | None, pool: str) -> str:
    """Queue of a request: its project's where that has a share, else its team's own."""
    rules = policy.projects.get(project or "")
    if rules is None or rules.team != team or pool not in rules.quota:
        return team
    return _project_queue(team, project or "") if may_use(policy, team, pool) else team


def top_of(quotas: Quotas, queue: str) -> str:
    """Node of the team that a queue belongs to: the highest below the root."""
    path = quotas.shape.path[queue]
    return path[-2] if len(path) > 1 else queue


def team_use(quotas: Quotas, queue: str) -> int:
    """Units that a queue's whole team holds."""
    top = top_of(quotas, queue)
    if top == queue:
        return quotas.used(queue)
    members = (name for name, node in quotas.nodes.items() if node.parent == top)
    return sum(quotas.used(name) for name in members)


def inside(quotas: Quotas, queue: str, units: int) -> bool:
    """Whether a request lies inside the guarantee of its team, its project's share included."""
    at, covers = reach(quotas, queue, units)
    return covers and at != ROOT


@dataclass
class Guarantee:
    """A team's guarantee in one pool, and what guaranteed leases take of it.

    A lease is covered by what is left of its project's share, and beyond that by what the team
    has not shared out; what another project leaves of its share is lent, never guaranteed.
    """

    own: int
    shares: Mapping[str, int]
    used: dict[str, int] = field(default_factory=dict)

    def covers(self, queue: str, units: int) -> bool:
        """Whether one more lease lies wholly inside."""
        taken = {**self.used, queue: self.used.get(queue, 0) + units}
        beyond = sum(max(0, held - self.shares.get(name, 0)) for name, held in taken.items())
        return beyond <= self.own

    def take(self, queue: str, units: int) -> None:
        """Count a guaranteed lease."""
        self.used[queue] = self.used.get(queue, 0) + units


def guarantee(policy: Policy, team: str, pool: str) -> Guarantee | None:
    """What a team is guaranteed of a pool, nothing taken; None where it has no quota there."""
    quota = policy.teams[team].quota.get(pool) if team in policy.teams else None
    if quota is None:
        return None
    shares = {
        _project_queue(team, name): share.nominal
        for name, share in _shares(policy, team, pool).items()
    }
    return Guarantee(quota.nominal - sum(shares.values()), shares)
