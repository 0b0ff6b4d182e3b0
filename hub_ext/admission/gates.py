"""Rules before the quota: who may use a pool at all, how many leases at once, and one's own wish.

Access and a person's own wish hold in every mode; caps are rules among people and act only where
quota is enforced.
"""

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter

from ..lease import OpenLease
from . import budgets
from .decision import Denied, Queued
from .isolated import apart
from .pinned import unlisted
from .reasons import (
    Standings,
    inside,
    never_guaranteed,
    nobody_may,
    not_yet_guaranteed,
    person_cap,
    project_cap,
    task_cap,
    team_cap,
    too_large,
)
from .snapshot import Demand, Scene, may_use


def access(scene: Scene, demand: Demand) -> Denied | None:
    """Refuse a team that may not use the pool, or a project that needs more; whatever is free."""
    if not may_use(scene.policy, demand.team, demand.pool):
        return nobody_may(scene.policy, demand)
    return apart(scene, demand) or unlisted(scene, demand)


def wish(scene: Scene, demand: Demand, now: Standings) -> Queued | Denied | None:
    """Let wait whoever asked rather to wait than to borrow, until the guarantee covers it."""
    if not demand.only_guaranteed or inside(demand, now):
        return None
    if demand.units > now.nominal:
        return never_guaranteed(demand, now)
    return not_yet_guaranteed(scene, demand, now)


def caps(scene: Scene, demand: Demand) -> Queued | Denied | None:
    """Refuse what is larger than the team allows; let wait what is one lease too many.

    In this order: largest request, leases of the person in the team, of the team, of the project,
    of the task type in all teams.
    """
    team, at = scene.policy.teams[demand.team], scene.snapshot.at
    if team.largest_request is not None and demand.units > team.largest_request:
        return too_large(demand, team.largest_request)
    for limit, like, cap in _limits(scene, demand):
        ours = _counted(scene, like, demand)
        claims = sum(1 for one, _ in scene.taken if like(one, demand))
        if len(ours) + claims >= limit:
            return cap(demand, ours, limit, at)
    return None


def full_limits(scene: Scene, demand: Demand) -> tuple[tuple[tuple[OpenLease, ...], int], ...]:
    """Give for each limit that holds a request its leases, and how many of them must end."""
    found = []
    for limit, like, _cap in _limits(scene, demand):
        ours = _counted(scene, like, demand)
        if len(ours) >= limit:
            found.append((ours, len(ours) - limit + 1))
    return tuple(found)


def _counted(scene: Scene, like: "_Like", demand: Demand) -> tuple[OpenLease, ...]:
    return tuple(one for one in scene.others if one.holding and one.pool and like(one, demand))


def _limits(scene: Scene, demand: Demand) -> tuple[tuple[int, "_Like", "_Cap"], ...]:
    """Limits on leases that a request is under, in the order in which they are told."""
    team = scene.policy.teams[demand.team]
    project = scene.policy.projects.get(demand.project or "")
    task = scene.policy.task_types.get(demand.task_type or "")
    limits: tuple[tuple[int | None, _Like, _Cap], ...] = (
        (team.most_leases_per_person, _by_person, person_cap),
        (team.most_leases, _by_team, team_cap),
        (None if project is None else project.most_leases, _by_project, project_cap),
        (None if task is None else task.most_leases, _by_task, task_cap),
    )
    return tuple((limit, like, cap) for limit, like, cap in limits if limit is not None)


Kind = tuple[object, ...]
"""What an answer depends on beside the pool: the same is told to requests of one kind."""

_PLAIN = attrgetter("team", "flavor", "project", "task_type", "only_guaranteed", "alone")


def kinds(scene: Scene) -> Callable[[Demand], Kind]:
    """Give what tells the kind of a request; it is asked of each in a long line."""
    teams = scene.policy.teams.items()
    capped = {name for name, team in teams if team.most_leases_per_person is not None}
    if not capped and not scene.snapshot.budgets:
        return _PLAIN

    def kind(demand: Demand) -> Kind:
        user = demand.key.user if demand.team in capped else ""
        return (*_PLAIN(demand), user, *budgets.kind(scene, demand))

    return kind


_Like = Callable[[OpenLease | Demand, Demand], bool]
_Cap = Callable[[Demand, tuple[OpenLease, ...], int, datetime], Queued]


def _by_team(one: OpenLease | Demand, demand: Demand) -> bool:
    return one.team == demand.team


def _by_person(one: OpenLease | Demand, demand: Demand) -> bool:
    return one.team == demand.team and one.key.user == demand.key.user


def _by_project(one: OpenLease | Demand, demand: Demand) -> bool:
    return one.project == demand.project


def _by_task(one: OpenLease | Demand, demand: Demand) -> bool:
    return one.task_type == demand.task_type
