"""What projects need: whether any profile that they may choose can give it."""

from collections.abc import Iterator

from ...i18n import _
from ..catalogue import may_choose
from ..isolation import best_of, shortfalls
from ..model import Policy, flavor_kind
from ..problems import Problem, error


def check_needs(policy: Policy) -> Iterator[Problem]:
    """Refuse a promise that no GPU of the project's team can keep."""
    for name, project in policy.projects.items():
        offered = [
            (profile, str(profile.pool), best_of(policy, str(profile.pool), kind))
            for label, profile in policy.profiles.items()
            if (kind := flavor_kind(profile.flavor)) != "none"
            and may_choose(policy, project.team, label)
        ]
        short = [shortfalls(policy, name, pool, isolation) for _p, pool, isolation in offered]
        if not offered or not all(short):
            continue
        # One need at a time: the one that is nearest to being met says what to do.
        missed = min(short, key=len)[0]
        best = max((isolation for _p, _pool, isolation in offered), key=lambda one: one.rank)
        has = best.value if missed.what == "isolation" else missed.has or _("not said")
        yield error(
            ("projects", name, "needs", missed.what),
            _(
                "no profile that the team may choose gives it: needed is {needs}, there is {has}"
            ).format(needs=missed.needs, has=has),
            _("offer such a profile, or name what it has in the pool, or ask for less"),
        )
