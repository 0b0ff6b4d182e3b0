"""Moves of quota between a team's projects, put on top of the shares that the policy gives.

A move conserves the sum: it never gives more than the team is guaranteed, and takes no more than
the share has. One that cannot be any more is void, with words, and changes nothing.
"""

from collections.abc import Iterable, Sequence
from datetime import date

from ..i18n import _
from ..lease import MoveRow, PoolName, ProjectName, QuotaMove, ShareRow
from .capacity import gpus_words
from .model import Policy, Quota
from .problems import quoted

Shares = dict[tuple[str | None, str], int]
"""Units by project and pool; None is what a team has not shared out."""


def shares_of(policy: Policy, team: str) -> Shares:
    """Read the shares of a team's projects from the policy alone; the rest is the team's own."""
    found: Shares = {
        (None, pool): quota.nominal for pool, quota in policy.teams[team].quota.items()
    }
    for name, project in policy.projects.items():
        if project.team != team:
            continue
        for pool, share in project.quota.items():
            found[name, pool] = share.nominal
            found[None, pool] = found.get((None, pool), 0) - share.nominal
    return found


def obstacle(policy: Policy, shares: Shares, move: QuotaMove) -> str:
    """Say what makes a move impossible with these shares; empty where nothing does."""
    rules = policy.teams.get(move.team)
    if rules is None:
        return _("the policy has no team {team} any more").format(team=quoted(move.team))
    if move.pool not in rules.quota:
        return _("the team has no quota in the pool {pool} any more").format(pool=quoted(move.pool))
    for name in (move.from_project, move.to_project):
        project = policy.projects.get(name or "")
        if name is not None and (project is None or project.team != move.team):
            return _("the team has no project {project} any more").format(project=quoted(name))
    has = shares.get((move.from_project, move.pool), 0)
    if move.units > has:
        return _("{giver} has {has} of pool {pool} then, and {units} were to be moved").format(
            giver=giver_words(move.from_project),
            has=gpus_words(has),
            pool=quoted(move.pool),
            units=gpus_words(move.units),
        )
    return ""


def giver_words(project: str | None) -> str:
    """Name a project's share, or what a team has not shared out."""
    if project is None:
        return _("what the team has not shared out")
    return _("the project {project}").format(project=quoted(project))


def on(moves: Iterable[QuotaMove], day: date) -> tuple[QuotaMove, ...]:
    """Moves that hold on a day, in the order in which they were made."""
    return tuple(
        sorted(
            (
                one
                for one in moves
                if one.first_day <= day and (one.until is None or day < one.until)
            ),
            key=lambda one: (one.at, one.id),
        )
    )


def shares_on(
    policy: Policy, team: str, moves: Iterable[QuotaMove], day: date
) -> tuple[Shares, dict[str, str]]:
    """Shares of a team's projects on a day, and the void moves of that day with what is wrong."""
    shares = shares_of(policy, team) if team in policy.teams else {}
    void: dict[str, str] = {}
    for move in on((one for one in moves if one.team == team), day):
        why = obstacle(policy, shares, move)
        if why:
            void[move.id] = why
            continue
        shares[move.from_project, move.pool] -= move.units
        to = (move.to_project, move.pool)
        shares[to] = shares.get(to, 0) + move.units
    return shares, void


def applied(policy: Policy, moves: Sequence[QuotaMove], day: date) -> Policy:
    """Give the policy with the moves of a day in its projects' shares.

    Limits of a share stay as they are; a project that had none gets one without limits.
    """
    teams = {one.team for one in on(moves, day)} & set(policy.teams)
    if not teams:
        return policy
    projects = dict(policy.projects)
    for team in teams:
        shares, _void = shares_on(policy, team, moves, day)
        for (name, pool), units in shares.items():
            if name is None:
                continue
            project = projects[name]
            share = project.quota.get(pool) or Quota.model_construct(nominal=0)
            quota = {**project.quota, pool: share.model_copy(update={"nominal": units})}
            projects[name] = project.model_copy(update={"quota": quota})
    return policy.model_copy(update={"projects": projects})


def rows(policy: Policy, team: str, moves: Sequence[QuotaMove], day: date) -> tuple[MoveRow, ...]:
    """Say of every move of a team how it stands on a day; the newest comes first."""
    _shares, void = shares_on(policy, team, moves, day)
    found = []
    for move in sorted(moves, key=lambda one: (one.at, one.id), reverse=True):
        if move.team != team:
            continue
        if move.id in void:
            found.append(MoveRow(move=move, state="void", words=void[move.id]))
        elif day < move.first_day:
            found.append(_to_come(policy, moves, move))
        elif move.until is not None and day >= move.until:
            found.append(MoveRow(move=move, state="over"))
        else:
            found.append(MoveRow(move=move, state="in force"))
    return tuple(found)


def _to_come(policy: Policy, moves: Sequence[QuotaMove], move: QuotaMove) -> MoveRow:
    _shares, void = shares_on(policy, move.team, moves, move.first_day)
    if move.id in void:
        return MoveRow(move=move, state="void", words=void[move.id])
    return MoveRow(move=move, state="to come")


def share_rows(
    policy: Policy, team: str, moves: Sequence[QuotaMove], day: date
) -> tuple[ShareRow, ...]:
    """List the shares of a team's projects and what is not shared out, by pool."""
    before = shares_of(policy, team)
    after, _void = shares_on(policy, team, moves, day)
    return tuple(
        ShareRow(
            project=None if name is None else ProjectName(name),
            pool=PoolName(pool),
            policy_units=before.get((name, pool), 0),
            units=units,
        )
        for (name, pool), units in sorted(
            after.items(), key=lambda one: (one[0][1], one[0][0] is None, one[0][0] or "")
        )
    )
