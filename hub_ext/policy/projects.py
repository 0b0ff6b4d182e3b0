"""Whose projects are whose, which of them still go on, and which one a choice means."""

from collections.abc import Collection, Sequence
from datetime import datetime

from ..errors import RefusedError
from ..i18n import _
from ..lease import Choice, ProjectName, TeamName
from .answers import instead, listed, quoted
from .model import Policy
from .prices import day_start


def projects_of(
    policy: Policy, teams: Collection[str], *, at: datetime | None = None
) -> tuple[ProjectName, ...]:
    """Projects that belong to any of these teams, in the policy's order.

    Parameters
    ----------
    at
        Leave out those that have ended by then; None leaves out none.
    """
    return tuple(
        ProjectName(name)
        for name, project in policy.projects.items()
        if project.team in teams and not (at is not None and has_ended(policy, name, at))
    )


def has_ended(policy: Policy, project: str, at: datetime) -> bool:
    """Whether a project gets no GPU any more."""
    ends = policy.projects[project].ends
    return ends is not None and day_start(ends, policy.timezone) <= at


def project_of(
    policy: Policy, choice: Choice, team: TeamName, at: datetime | None
) -> ProjectName | None:
    """Take the project that is named, else the team's first that goes on; None where it has none.

    Parameters
    ----------
    at
        When a GPU is asked for; None where none is.

    Raises
    ------
    RefusedError
        403 for a project of others, and for one that has ended.
    """
    own = projects_of(policy, (team,))
    going_on = projects_of(policy, (team,), at=at)
    if choice.project is None and (going_on or not own):
        return going_on[0] if own else None
    if choice.project in going_on:
        return choice.project
    if choice.project is None or choice.project in own:
        raise _ended(policy, choice.project or own[0], going_on)
    raise RefusedError(
        "not-your-project",
        _("The team {team} has no project {project}. {remedy}").format(
            team=quoted(team),
            project=quoted(choice.project),
            remedy=instead(choice.project, own),
        ),
        status=403,
    )


def _ended(policy: Policy, project: str, others: Sequence[ProjectName]) -> RefusedError:
    rules = policy.projects[project]
    answers = rules.owner or listed(policy.teams[rules.team].leads)
    remedy = (
        _("Choose one of {projects}.").format(projects=listed(others))
        if others
        else _("Ask {who} whether it goes on.").format(who=answers or _("an administrator"))
    )
    return RefusedError(
        "project-ended",
        _(
            "The project {project} ended on {day}, so no GPU is given out for it. {remedy} Servers "
            "without a GPU still start."
        ).format(project=quoted(project), day=rules.ends, remedy=remedy),
        figures={"project": project, "ended": str(rules.ends)},
        status=403,
    )
