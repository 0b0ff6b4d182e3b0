"""Projects' shares of their team's quota: names, sums, and devices they can really become."""

from collections import defaultdict
from collections.abc import Iterator

from ...i18n import _
from ...units import Units, quota_text
from ..capacity import capacity, gpus_words, profiles_for
from ..catalogue import profile_size
from ..model import Policy, Quota, flavor_name
from ..problems import Path, Problem, error, listed, nearest, quoted, warning
from .guarantees import nearest_sums


def check_shares(policy: Policy) -> Iterator[Problem]:
    """Check each share, and that a team's projects together have no more than their team."""
    given: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for name, project in policy.projects.items():
        for pool, share in project.quota.items():
            path: Path = ("projects", name, "quota", pool)
            team = policy.teams.get(project.team)
            if team is None:
                continue
            if pool not in team.quota:
                yield error(
                    path,
                    _(
                        "the team {team} has no quota in {pool}, so there is nothing to share"
                    ).format(team=quoted(project.team), pool=quoted(pool)),
                    nearest(pool, list(team.quota)),
                )
                continue
            given[project.team, pool][name] = share.nominal
            yield from _limits(path, share)
    for (team_name, pool), shares in given.items():
        yield from _sum(policy, team_name, pool, shares)


def _limits(path: Path, share: Quota) -> Iterator[Problem]:
    if share.lending_limit is not None and share.lending_limit > share.nominal:
        yield warning(
            (*path, "lending_limit"),
            _("more than the share cannot be lent"),
            _("lower it, or take it away to lend all"),
        )


def _sum(policy: Policy, team: str, pool: str, shares: dict[str, int]) -> Iterator[Problem]:
    nominal, total = policy.teams[team].quota[pool].nominal, sum(shares.values())
    if total <= nominal:
        return
    names = ", ".join(f"{quoted(one)} {quota_text(Units(units))}" for one, units in shares.items())
    yield error(
        ("projects", list(shares)[-1], "quota", pool, "nominal"),
        _(
            "the projects of {team} share out {total} of {pool} ({names}); the team is guaranteed "
            "{nominal}"
        ).format(
            team=quoted(team),
            total=gpus_words(total),
            pool=quoted(pool),
            names=names,
            nominal=gpus_words(nominal),
        ),
        _("lower them by '{gpus}' together, or raise the team's `nominal`").format(
            gpus=quota_text(Units(total - nominal))
        ),
    )


def check_share_devices(policy: Policy) -> Iterator[Problem]:
    """Warn of shares of which a part can never be held; names and cuts must be right."""
    for name, project in policy.projects.items():
        for pool, share in project.quota.items():
            profiles = profiles_for(policy, project.team, pool)
            sizes = {flavor_name(one.flavor): profile_size(policy, one) for one in profiles}
            if not sizes or not share.nominal:
                continue
            most = capacity(policy.pools[pool]).units
            below, above = nearest_sums(sizes.values(), share.nominal, most=most)
            if below == share.nominal:
                continue
            yield warning(
                ("projects", name, "quota", pool, "nominal"),
                _("{rest} of it never becomes a device; the team may choose {flavors}").format(
                    rest=gpus_words(share.nominal - below), flavors=listed(sorted(sizes))
                ),
                _("write {nearest}").format(
                    nearest=_(" or ").join(
                        f"'{quota_text(Units(units))}'" for units in (below, above) if units
                    )
                ),
            )
