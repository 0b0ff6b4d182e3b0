"""Teams: who belongs to them, and quota that can act."""

from collections import defaultdict
from collections.abc import Iterator

from ...i18n import _
from ..model import Policy, Quota, Team
from ..problems import Path, Problem, error, listed, nearest, quoted, warning


def check_teams(policy: Policy) -> Iterator[Problem]:
    """Check every team by itself, and that no group leads to two of them."""
    yield from _shared_groups(policy)
    for name, team in policy.teams.items():
        path: Path = ("teams", name)
        yield from _pools_allowed(policy, path, team)
        yield from _limits(path, team)
        for pool, quota in team.quota.items():
            yield from _quota(policy, name, pool, quota)


def _shared_groups(policy: Policy) -> Iterator[Problem]:
    teams: dict[str, list[str]] = defaultdict(list)
    for name, team in policy.teams.items():
        for group in dict.fromkeys(team.groups):
            teams[group].append(name)
    for group, names in teams.items():
        for name in names[1:]:
            yield warning(
                ("teams", name, "groups"),
                _("members of the group {group} are in several teams: {teams}").format(
                    group=quoted(group), teams=listed(names)
                ),
                _("they choose the team on the form, else the first of this file is taken"),
            )


def _pools_allowed(policy: Policy, path: Path, team: Team) -> Iterator[Problem]:
    for index, pool in enumerate(team.pools_allowed or ()):
        here: Path = (*path, "pools_allowed", index)
        if pool not in policy.pools:
            yield error(
                here,
                _("there is no pool {pool}").format(pool=quoted(pool)),
                nearest(pool, list(policy.pools)),
            )
        elif pool not in team.quota:
            yield warning(
                here,
                _("the team has no quota in {pool}, so it cannot use it").format(pool=quoted(pool)),
                _("add it to `quota`, with nominal '0' for borrowing alone, or take it away"),
            )


def _limits(path: Path, team: Team) -> Iterator[Problem]:
    most, each = team.most_leases, team.most_leases_per_person
    if most is not None and each is not None and each > most:
        yield warning(
            (*path, "most_leases_per_person"),
            _("one person may have {each} leases, the whole team only {most}").format(
                each=each, most=most
            ),
            _("lower it to {most} at most").format(most=most),
        )
    if team.largest_request == 0:
        yield error(
            (*path, "largest_request"),
            _("a limit of 0 allows no GPU at all"),
            _("write the most that one server may hold; to allow none, leave `quota` empty"),
        )


def _quota(policy: Policy, name: str, pool: str, quota: Quota) -> Iterator[Problem]:
    path: Path = ("teams", name, "quota", pool)
    team = policy.teams[name]
    if pool not in policy.pools:
        yield error(
            path,
            _("there is no pool {pool}").format(pool=quoted(pool)),
            nearest(pool, list(policy.pools)),
        )
        return
    reserved = policy.pools[pool].for_
    if reserved != "shared" and reserved.team != name:
        yield error(
            path,
            _("the pool is reserved for the team {team}").format(team=quoted(reserved.team)),
            _("take this quota away, or write `for: shared` in the pool"),
        )
    if team.pools_allowed is not None and pool not in team.pools_allowed:
        yield warning(
            path,
            _("the team has quota here, but `pools_allowed` leaves the pool out"),
            _("add it there, or take the quota away"),
        )
    yield from _borrowing(path, team, quota, shared=reserved == "shared")


def _borrowing(path: Path, team: Team, quota: Quota, *, shared: bool) -> Iterator[Problem]:
    borrows = team.over_quota == "borrow"
    if quota.borrowing_limit is not None and not borrows:
        yield warning(
            (*path, "borrowing_limit"),
            _("it has no effect with `over_quota: {word}`").format(word=team.over_quota),
            _("write `over_quota: borrow`, or take the limit away"),
        )
    if not shared and (quota.borrowing_limit is not None or quota.lending_limit is not None):
        yield warning(
            path,
            _("in a pool for one team nobody lends or borrows"),
            _("take the limits away"),
        )
    if quota.lending_limit is not None and quota.lending_limit > quota.nominal:
        yield warning(
            (*path, "lending_limit"),
            _("more than the guarantee cannot be lent"),
            _("lower it, or take it away to lend all"),
        )
    if quota.nominal == 0 and not borrows:
        yield warning(
            (*path, "nominal"),
            _("with no guarantee and without borrowing the team never gets a GPU here"),
            _("write `over_quota: borrow`, or give it a guarantee"),
        )
