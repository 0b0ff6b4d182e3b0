"""Which idle rule is for a lease, and how far back its readings must reach."""

from datetime import timedelta

from ..lease import OpenLease, Verdict
from ..policy.model import FlavorKind, IdleRule, Policy
from ..policy.model.idle import window_of
from .tracks import STALE_PERIODS


def rule_for(
    policy: Policy,
    kind: FlavorKind,
    task_type: str | None = None,
    *,
    profile: str | None = None,
    team: str | None = None,
) -> tuple[str, IdleRule] | None:
    """Find the idle rule of a task type, else the most special one of a kind of flavor.

    A rule that names profiles goes before one that names teams, and one of both before either;
    the check refuses two of the same rank. None where there is none.
    """
    task = policy.task_types.get(task_type or "")
    if task is not None and task.idle in policy.idle:
        return str(task.idle), policy.idle[str(task.idle)]
    fitting = [
        (name, rule)
        for name, rule in policy.idle.items()
        if kind in rule.applies
        and (not rule.profiles or profile in rule.profiles)
        and (not rule.teams or team in rule.teams)
    ]
    return max(fitting, key=lambda one: rank(one[1]), default=None)


def rule_of(policy: Policy, lease: OpenLease, kind: FlavorKind) -> tuple[str, IdleRule] | None:
    """Find the idle rule of a lease; see `rule_for`."""
    return rule_for(policy, kind, lease.task_type, profile=lease.profile, team=lease.team)


def rank(rule: IdleRule) -> int:
    """How special a rule is: of profiles and teams, of profiles, of teams, of all."""
    return 2 * bool(rule.profiles) + bool(rule.teams)


def lookback(rule: IdleRule, period_s: float) -> timedelta:
    """How far back readings must reach for `judge` to be able to see a whole quiet limit."""
    return rule.limit + _margin(rule, period_s)


def looking_again(rule: IdleRule, verdict: Verdict, period_s: float) -> timedelta:
    """How far back readings must reach to see again all that an idle verdict stands on.

    A busy kernel has a longer limit than the rule's, and what the server said may have put the
    begin of the quiet later than what the agent saw: over less, neither could be confirmed.
    """
    reached = timedelta(seconds=verdict.limit_s or 0)
    put_later = verdict.quiet_since != verdict.agent_quiet_since
    behind = reached + (rule.user_extends if put_later else timedelta(0))
    return max(lookback(rule, period_s), behind + _margin(rule, period_s))


def _margin(rule: IdleRule, period_s: float) -> timedelta:
    return window_of(rule) + timedelta(seconds=(STALE_PERIODS + 1) * period_s)
