"""Task types: names that exist, somebody who may choose them, and settings that can act."""

from collections.abc import Iterator

from ...i18n import _
from ..catalogue import may_choose
from ..model import Policy, TaskType
from ..problems import Path, Problem, error, nearest, quoted, warning
from ..tasks import suits


def check_tasks(policy: Policy) -> Iterator[Problem]:
    """Check every task type by itself, and the defaults of profiles."""
    titles: dict[str, str] = {}
    for name, task in policy.task_types.items():
        path: Path = ("task_types", name)
        first = titles.setdefault(task.title, name)
        if first != name:
            yield warning(
                (*path, "title"),
                _("the task type {first} has the same title").format(first=quoted(first)),
                _("say what tells them apart"),
            )
        yield from _names(policy, path, task)
        yield from _idle(policy, path, task)
        yield from _preempts(policy, path, task)
        yield from _choosable(policy, name, path, task)
    yield from _defaults(policy)


def _names(policy: Policy, path: Path, task: TaskType) -> Iterator[Problem]:
    for index, team in enumerate(task.teams or ()):
        if team not in policy.teams:
            yield error(
                (*path, "teams", index),
                _("there is no team {team}").format(team=quoted(team)),
                nearest(team, list(policy.teams)),
            )


def _idle(policy: Policy, path: Path, task: TaskType) -> Iterator[Problem]:
    if task.idle is not None and task.idle not in policy.idle:
        yield error(
            (*path, "idle"),
            _("there is no idle rule {rule}").format(rule=quoted(task.idle)),
            nearest(task.idle, list(policy.idle)),
        )


def _preempts(policy: Policy, path: Path, task: TaskType) -> Iterator[Problem]:
    if not task.may_preempt:
        return
    if all(team.preemption == "off" for team in policy.teams.values()):
        yield warning(
            (*path, "may_preempt"),
            _("it has no effect: no team has `preemption: by_type`"),
            _("write that in a team, or take this away"),
        )
    elif task.weight <= min(other.weight for other in policy.task_types.values()):
        yield warning(
            (*path, "may_preempt"),
            _("it has no effect: no task type has a lower weight"),
            _("raise its `weight`"),
        )


def _choosable(policy: Policy, name: str, path: Path, task: TaskType) -> Iterator[Problem]:
    """Find types that nobody may choose, so far as groups and teams of the policy tell."""
    member_of = {
        team
        for team, rules in policy.teams.items()
        if (task.groups is None and task.teams is None)
        or team in (task.teams or ())
        or set(rules.groups) & set(task.groups or ())
    }
    # A group that leads to no team may hold anybody's members.
    outside = set(task.groups or ()) - {g for rules in policy.teams.values() for g in rules.groups}
    if outside:
        member_of = set(policy.teams)
    profiles = [
        profile
        for profile in policy.profiles
        if suits(policy, name, profile)
        and any(may_choose_here(policy, team, profile) for team in member_of)
    ]
    if not profiles:
        yield warning(
            path,
            _("nobody may choose this task type"),
            _("name groups or teams that have a profile of such a flavor, or take it away"),
        )


def may_choose_here(policy: Policy, team: str, profile: str) -> bool:
    """As `may_choose`, where the profile's pool need not exist."""
    pool = policy.profiles[profile].pool
    return (pool is None or pool in policy.pools) and may_choose(policy, team, profile)


def _defaults(policy: Policy) -> Iterator[Problem]:
    for name, profile in policy.profiles.items():
        path: Path = ("profiles", name, "task_type")
        if profile.task_type is None:
            continue
        if profile.task_type not in policy.task_types:
            yield error(
                path,
                _("there is no task type {task}").format(task=quoted(profile.task_type)),
                nearest(profile.task_type, list(policy.task_types)),
            )
        elif not suits(policy, profile.task_type, name):
            yield error(
                path,
                _("the task type {task} is not for this flavor").format(
                    task=quoted(profile.task_type)
                ),
                _("add the kind to its `flavors`, or name another type"),
            )
