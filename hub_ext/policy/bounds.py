"""What the policy promises about waiting: the bound of a guarantee, and of a large request.

Bounds count from when a request is first in its queue, while devices are in service and a
placement exists, once quota is enforced.
"""

from datetime import timedelta
from typing import NamedTuple

from ..i18n import _
from ..units import duration_text
from .catalogue import profile_size
from .model import Policy


def owner_bound(policy: Policy, pool: str) -> timedelta | None:
    """Longest wait of a request inside its guarantee; None where owners may not call in.

    What is borrowed is safe for `min_runtime`, is then called in with `notice`, and stops within
    the stop limit.
    """
    rules = policy.pools[pool]
    if not rules.reclaim:
        return None
    return rules.min_runtime + rules.notice + policy.notice.stop_limit


def large_bound(policy: Policy, pool: str) -> timedelta | None:
    """Longest wait of any request that its limits allow; None where small ones may always pass.

    After `starve_after` nobody younger passes, and what runs then ends within `normal_lifetime`.
    """
    rules = policy.pools[pool]
    if rules.starve_after is None or rules.normal_lifetime is None:
        return None
    return rules.starve_after + rules.normal_lifetime + policy.notice.stop_limit


def owner_words(policy: Policy, pool: str, nominal: int) -> str:
    """Say how long a request inside a guarantee waits at most, and of what it is the sum."""
    if not nominal:
        return _("no bound: nothing is guaranteed")
    bound = owner_bound(policy, pool)
    rules = policy.pools[pool]
    if bound is None:
        return _("no bound: your team may not reclaim")
    return _("{bound} ({runtime} + {notice} + {stop})").format(
        bound=duration_text(bound),
        runtime=duration_text(rules.min_runtime),
        notice=duration_text(rules.notice),
        stop=duration_text(policy.notice.stop_limit),
    )


def large_words(policy: Policy, pool: str) -> str:
    """Say how long any request waits at most, and of what it is the sum."""
    bound, rules = large_bound(policy, pool), policy.pools[pool]
    if bound is None or rules.starve_after is None or rules.normal_lifetime is None:
        return _("no bound: smaller ones may pass")
    return _("{bound} ({starve} + {life} + {stop})").format(
        bound=duration_text(bound),
        starve=duration_text(rules.starve_after),
        life=duration_text(rules.normal_lifetime),
        stop=duration_text(policy.notice.stop_limit),
    )


def notes(policy: Policy) -> tuple[str, ...]:
    """Say what the bounds do not count."""
    said = []
    if policy.modes.quota != "enforce":
        said.append(_("The bounds hold once quota is enforced."))
    if any(task.long_running for task in policy.task_types.values()):
        said.append(
            _("What long-running task types hold has no normal lifetime, and no bound counts it.")
        )
    return tuple(said)


class Unbounded(NamedTuple):
    """A profile that is more than a team is guaranteed, in a pool where nothing bounds its wait."""

    team: str
    profile: str
    size: int
    nominal: int


def unbounded(policy: Policy, pool: str, choices: list[tuple[str, str]]) -> list[Unbounded]:
    """Find among teams and profiles of a pool those that always borrow and may always be passed."""
    if large_bound(policy, pool) is not None:
        return []
    found = []
    for team, profile in choices:
        nominal = policy.teams[team].quota[pool].nominal
        size = profile_size(policy, policy.profiles[profile])
        if size > nominal > 0 and policy.teams[team].over_quota == "borrow":
            found.append(Unbounded(team, profile, size, nominal))
    return found
