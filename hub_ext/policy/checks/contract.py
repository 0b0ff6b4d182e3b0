"""What those who wait and who borrow may count on: settings that promise less than they seem to."""

from collections.abc import Iterator

from ...i18n import _
from ..bounds import unbounded
from ..capacity import gpus_words
from ..catalogue import may_choose
from ..model import Policy, Pool
from ..problems import Path, Problem, quoted, warning


def check_contract(policy: Policy) -> Iterator[Problem]:
    """Check pools' times and teams' preemption; names must be right."""
    for name, pool in policy.pools.items():
        path: Path = ("pools", name)
        yield from _starving(path, pool)
        yield from _large(policy, name, path)
    for name, team in policy.teams.items():
        if team.preemption == "off":
            continue
        here: Path = ("teams", name, "preemption")
        if not any(quota.nominal for quota in team.quota.values()):
            yield warning(
                here,
                _("nothing is guaranteed to the team, and what would borrow stops nobody"),
                _("give it a guarantee, or write `preemption: off`"),
            )
        elif not any(task.may_preempt for task in policy.task_types.values()):
            yield warning(
                here,
                _("it has no effect: no task type has `may_preempt: true`"),
                _("write that in a task type, or take this away"),
            )


def _starving(path: Path, pool: Pool) -> Iterator[Problem]:
    if pool.starve_after is not None and pool.normal_lifetime is None:
        yield warning(
            (*path, "starve_after"),
            _("without `normal_lifetime` it bounds no wait: what runs may run for ever"),
            _("add `normal_lifetime`"),
        )


def _large(policy: Policy, name: str, path: Path) -> Iterator[Problem]:
    choices = [
        (team, profile)
        for profile, entry in policy.profiles.items()
        if entry.pool == name
        for team in policy.teams
        if may_choose(policy, team, profile)
    ]
    found = unbounded(policy, name, choices)
    if found:
        one = found[0]
        yield warning(
            path,
            _(
                "{profile} takes {size}, more than {nominal} that {team} is guaranteed: it always "
                "borrows, and smaller requests may pass it for ever"
            ).format(
                profile=quoted(one.profile),
                size=gpus_words(one.size),
                nominal=gpus_words(one.nominal),
                team=quoted(one.team),
            ),
            _("write `starve_after` and `normal_lifetime` here, or raise its `nominal`"),
        )
