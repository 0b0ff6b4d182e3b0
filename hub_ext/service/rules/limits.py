"""Every rule that binds one person, from the policy in force: what, where it says so, since when.

It reads and puts into words; what is held is read of open leases alone.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from ...i18n import _
from ...lease import Limit, LimitSheet, OpenLease, TeamName
from ...lease.budgets import Budgeted
from ...policy.bounds import large_words, owner_words
from ...policy.catalogue import Person, longest_for, may_choose, may_use, teams_of
from ...policy.model import Policy, Quota
from ...policy.tasks import tasks_open
from ...units import duration_text
from ..books import formats
from ..books.budgetrecord import Reached
from ..money import budgetrows
from .limits_site import site_limits


class Money(NamedTuple):
    """What budgets stand at, and which of their steps were reached; None where nobody knows."""

    budgets: Sequence[Budgeted] = ()
    reached: Reached | None = None


def sheet(
    policy: Policy,
    person: Person,
    leases: Sequence[OpenLease],
    money: Money,
    *,
    generation: int,
    now: datetime,
) -> LimitSheet:
    """List what binds a person now, with what their teams hold.

    Parameters
    ----------
    policy
        The one in force, with the moves of today in it.
    """
    budgets, reached = money
    teams = teams_of(policy, person)
    found = [
        *(one for team in teams for one in _of_team(policy, person, team, leases)),
        *site_limits(policy, person, teams, now),
        *budgetrows.limits(budgets, policy, person.user, teams),
    ]
    return LimitSheet(
        user=person.user,
        at=now,
        teams=teams,
        policy_generation=generation,
        limits=tuple(found),
        budgets=budgetrows.of_person(budgets, policy, person.user, teams, reached),
    )


def _of_team(
    policy: Policy, person: Person, team: TeamName, leases: Sequence[OpenLease]
) -> Iterator[Limit]:
    for pool, quota in policy.teams[team].quota.items():
        held = sum(
            one.units for one in leases if one.holding and (one.team, one.pool) == (team, pool)
        )
        yield from _quota(policy, team, pool, quota, held)
    yield from _shares(policy, team, leases)
    yield from _caps(policy, team)
    yield from _lifetimes(policy, person, team)


def _quota(policy: Policy, team: TeamName, pool: str, quota: Quota, held: int) -> Iterator[Limit]:
    path, rules, mode = f"teams.{team}.quota.{pool}", policy.teams[team], policy.modes.quota
    yield Limit(
        subject="quota",
        team=team,
        words=_("Pool {pool}: {nominal} guaranteed, {held} held now; {beyond}; {lends}.").format(
            pool=pool,
            nominal=formats.gpus(quota.nominal),
            held=formats.gpus(held),
            beyond=_beyond(rules.over_quota, quota.borrowing_limit),
            lends=_lends(quota.lending_limit),
        ),
        origin=path,
        in_force=mode,
    )
    if not may_use(policy, team, pool):
        yield Limit(
            subject="quota",
            team=team,
            words=_("Pool {pool} is not open to this team.").format(pool=pool),
            origin=f"teams.{team}.pools_allowed",
            in_force="always",
        )
        return
    pool_rules = policy.pools[pool]
    yield Limit(
        subject="contract",
        team=team,
        words=_("Pool {pool}: a request inside the guarantee waits at most {bound}.").format(
            pool=pool, bound=owner_words(policy, pool, quota.nominal)
        )
        if quota.nominal and pool_rules.reclaim
        else _("Pool {pool}: {bound}.").format(
            pool=pool, bound=owner_words(policy, pool, quota.nominal)
        ),
        origin=f"pools.{pool}.reclaim",
        in_force=mode,
    )
    yield Limit(
        subject="contract",
        team=team,
        words=_(
            "Pool {pool}: what is borrowed is safe for {runtime} and is then called in with "
            "{notice} notice; large requests: {large}."
        ).format(
            pool=pool,
            runtime=duration_text(pool_rules.min_runtime),
            notice=duration_text(pool_rules.notice),
            large=large_words(policy, pool),
        ),
        origin=f"pools.{pool}.min_runtime",
        in_force=mode,
    )


def _beyond(over_quota: str, limit: int | None) -> str:
    if over_quota == "deny":
        return _("beyond that it is refused")
    if over_quota == "queue":
        return _("beyond that it waits, and never borrows")
    if limit is None:
        return _("beyond that it borrows what others leave")
    return _("beyond that it borrows up to {limit}").format(limit=formats.gpus(limit))


def _lends(limit: int | None) -> str:
    if limit is None:
        return _("others may use all of it meanwhile")
    return _("others may use {limit} of it meanwhile").format(limit=formats.gpus(limit))


def _shares(policy: Policy, team: TeamName, leases: Sequence[OpenLease]) -> Iterator[Limit]:
    for name, project in policy.projects.items():
        if project.team != team:
            continue
        for pool, share in project.quota.items():
            held = sum(
                one.units
                for one in leases
                if one.holding and (one.project, one.pool) == (name, pool)
            )
            yield Limit(
                subject="quota",
                team=team,
                words=_(
                    "Project {project} has {share} of it in pool {pool}, {held} held now."
                ).format(
                    project=name,
                    share=formats.gpus(share.nominal),
                    pool=pool,
                    held=formats.gpus(held),
                ),
                origin=f"projects.{name}.quota.{pool}",
                in_force=policy.modes.quota,
            )
        if project.most_leases is not None:
            yield Limit(
                subject="caps",
                team=team,
                words=_("Project {project}: {n} servers with GPUs at once.").format(
                    project=name, n=project.most_leases
                ),
                origin=f"projects.{name}.most_leases",
                in_force=policy.modes.quota,
            )


def _caps(policy: Policy, team: TeamName) -> Iterator[Limit]:
    rules = policy.teams[team]
    caps = (
        (
            "most_leases_per_person",
            rules.most_leases_per_person,
            _("A person may have {n} servers with GPUs at once."),
        ),
        (
            "most_leases",
            rules.most_leases,
            _("The whole team may have {n} servers with GPUs at once."),
        ),
        (
            "largest_request",
            None if rules.largest_request is None else formats.gpus(rules.largest_request),
            _("One server may hold at most {n}."),
        ),
    )
    for field, value, words in caps:
        if value is not None:
            yield Limit(
                subject="caps",
                team=team,
                words=words.format(n=value),
                origin=f"teams.{team}.{field}",
                in_force=policy.modes.quota,
            )


def _lifetimes(policy: Policy, person: Person, team: TeamName) -> Iterator[Limit]:
    for name, profile in policy.profiles.items():
        if not may_choose(policy, team, name):
            continue
        usual = (
            profile.task_type
            if profile.task_type in tasks_open(policy, person, team, name)
            else None
        )
        words = _("{title}: lives {default} unless asked otherwise, {longest} at most").format(
            title=profile.title,
            default=duration_text(
                min(profile.lifetime.default, longest_for(policy, team, name, usual))
            ),
            longest=duration_text(longest_for(policy, team, name, usual)),
        )
        others = [
            _("{span} as {task}").format(
                span=duration_text(longest_for(policy, team, name, task)),
                task=policy.task_types[task].title,
            )
            for task in tasks_open(policy, person, team, name)
            if longest_for(policy, team, name, task) != longest_for(policy, team, name, usual)
        ]
        yield Limit(
            subject="lifetime",
            team=team,
            words=f"{words} ({', '.join(others)})." if others else f"{words}.",
            origin=f"profiles.{name}.lifetime",
            in_force="always",
        )
