"""Task types that a person may choose, and the one that a choice comes to."""

from ..errors import RefusedError
from ..i18n import _
from ..lease import Choice, TaskTypeName
from .answers import instead, quoted
from .model import Policy, TaskType, flavor_kind
from .people import Person


def has_right(task: TaskType, person: Person, team: str) -> bool:
    """Whether a person may choose a task type for a lease of one of their teams."""
    if task.groups is None and task.teams is None:
        return True
    return team in (task.teams or ()) or bool(set(person.groups).intersection(task.groups or ()))


def suits(policy: Policy, task: str, profile: str) -> bool:
    """Whether a task type goes with the flavor of a profile."""
    kinds = policy.task_types[task].flavors
    return kinds is None or flavor_kind(policy.profiles[profile].flavor) in kinds


def tasks_open(policy: Policy, person: Person, team: str, profile: str) -> tuple[TaskTypeName, ...]:
    """Task types that a person may choose with a profile in a team, in the policy's order."""
    return tuple(
        TaskTypeName(name)
        for name, task in policy.task_types.items()
        if has_right(task, person, team) and suits(policy, name, profile)
    )


def task_of(
    policy: Policy, person: Person, choice: Choice, team: str, profile: str
) -> TaskTypeName | None:
    """Task type of a choice: the one named, else the profile's default; None is unlabelled.

    Raises
    ------
    RefusedError
        403 when the one named is not open to the person, with those that are; 400 when it does
        not exist or does not go with the profile.
    """
    open_to = tasks_open(policy, person, team, profile)
    if choice.task_type is None:
        usual = policy.profiles[profile].task_type
        return TaskTypeName(usual) if usual is not None and usual in open_to else None
    if choice.task_type in open_to:
        return choice.task_type
    figures: dict[str, int | str] = {"open": ", ".join(open_to)}
    if choice.task_type not in policy.task_types:
        words, code, status = _("There is no task type {task}. {remedy}"), "unknown-task-type", 400
    elif not has_right(policy.task_types[choice.task_type], person, team):
        words = _("The task type {task} is not open to you in the team {team}. {remedy}")
        code, status = "task-type-not-open", 403
    else:
        words = _("The task type {task} does not go with the profile {profile}. {remedy}")
        code, status = "task-type-not-for-profile", 400
    message = words.format(
        task=quoted(choice.task_type),
        team=quoted(team),
        profile=quoted(profile),
        remedy=_instead(choice.task_type, open_to),
    )
    raise RefusedError(code, message, figures=figures, status=status)


def _instead(task: str, open_to: tuple[TaskTypeName, ...]) -> str:
    if open_to:
        return instead(task, open_to)
    return _("No task type is open to you here; leave it out.")
