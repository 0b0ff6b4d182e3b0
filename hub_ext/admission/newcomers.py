"""Requests that nobody has made yet: one more of each kind, and those that will come meanwhile.

Who comes is read from who came: a course lets the past days happen again, each course others.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from ..lease import PoolName, ServerName, UserName
from ..lease.asking import ServerKey
from ..policy.catalogue import may_choose, profile_size
from ..policy.model import Policy, flavor_name
from .course import Wish
from .levels import may_use, queue_of
from .lives import WHOLE, Past, chance
from .snapshot import Demand

Newcomer = tuple[str, str]
"""Team and profile of a request that nobody has made yet."""

DAY = timedelta(days=1)

LOOKS_BACK = timedelta(days=7)
"""Older requests tell nothing of who comes next."""

LEAST_SPAN = timedelta(hours=6)
"""From a shorter past nobody is taken to come: one morning's rush would come for ever."""


def newcomers(policy: Policy, pool: PoolName, at: datetime) -> dict[Newcomer, Wish]:
    """Make one request of each team and profile of a pool, as a forecast meets it."""
    return {
        (team, name): Wish(
            _demand(policy, (team, None, name), at, f"~{team} {name}"),
            queue_of(policy, team, None, pool),
            name,
            entry.lifetime.default,
        )
        for name, entry in policy.profiles.items()
        for team in policy.teams
        if entry.pool == pool and _may(policy, pool, team, name)
    }


def comers(
    policy: Policy, pool: PoolName, past: Sequence[Past], now: datetime, course: int
) -> Iterator[Wish]:
    """Let who came to a pool in the past days come again, in the days after `now`.

    Where whole days are known, a course begins with one of them at the same time of day; else
    with some instant of what is known.
    """
    since = min((one.asked_at for one in past), default=now)
    span = min(now - since, LOOKS_BACK)
    if span < LEAST_SPAN:
        return
    if span >= DAY:
        days = span // DAY
        span, shift = days * DAY, (course % days) * DAY
        shift += timedelta(minutes=chance("shift", course) * 60 // WHOLE - 30)
    else:
        shift = span * chance("shift", course) // WHOLE
    for number, one in enumerate(past):
        if one.asked_at < now - span or policy.profiles.get(one.profile) is None:
            continue
        if policy.profiles[one.profile].pool == pool and _may(policy, pool, one.team, one.profile):
            at = now + (one.asked_at - now + shift) % span
            yield Wish(
                _demand(policy, (one.team, one.project, one.profile), at, f"\x7f{number}"),
                queue_of(policy, one.team, one.project, pool),
                one.profile,
                one.lived,
            )


def _may(policy: Policy, pool: PoolName, team: str, profile: str) -> bool:
    return may_use(policy, team, pool) and may_choose(policy, team, profile)


def _demand(policy: Policy, what: tuple[str, str | None, str], at: datetime, tie: str) -> Demand:
    """Make the demand of a team, a project of it or none, and a profile."""
    team, project, profile = what
    entry = policy.profiles[profile]
    return Demand(
        ServerKey(user=UserName("\x00"), server=ServerName("\x00")),
        team,
        PoolName(str(entry.pool)),
        flavor_name(entry.flavor),
        profile_size(policy, entry),
        0,
        at,
        tie,
        project=project,
        profile=profile,
    )
