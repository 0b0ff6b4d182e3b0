"""Who asks: a person with their groups, the teams these lead to, and the teams they lead."""

from ..lease import TeamName, UserName, Value
from .model import Policy


class Person(Value):
    """Somebody who asks, with the hub groups that the hub says they are in."""

    user: UserName
    groups: tuple[str, ...] = ()


def teams_of(policy: Policy, person: Person) -> tuple[TeamName, ...]:
    """Teams that a person belongs to through their groups, in the policy's order."""
    groups = set(person.groups)
    return tuple(
        TeamName(name) for name, team in policy.teams.items() if groups.intersection(team.groups)
    )


def led_by(policy: Policy, user: str) -> tuple[TeamName, ...]:
    """Teams whose spend and leases a user may see as a lead."""
    return tuple(TeamName(name) for name, team in policy.teams.items() if user in team.leads)
