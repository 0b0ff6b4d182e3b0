"""How many idle stops one pass may make, and when nobody is stopped as idle at all.

Many servers that turn idle together, or agents that fall silent, speak of a fault of the readings
and not of the people. Pure: it holds what earlier passes found, and knows no clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..i18n import ngettext
from ..lease import LeaseId

MOST_STOPS = 10
"""Idle stops in one pass, at most: a fault that nothing sees shall end few servers."""

STOPS_PERCENT = 10
"""Of the live servers with a GPU so many percent, at most; one is always allowed."""

TOGETHER = timedelta(minutes=5)
"""Servers that turn idle within so long do so together: quiet ones are not judged each pass."""

LEAST_TOGETHER = 5
"""So few servers may turn idle together on any day, whatever their share."""

TOGETHER_PERCENT = 30
"""More than so many percent of the live servers with a GPU do not turn idle together by chance."""

SILENT_PERCENT = 20
"""From so many percent of silent agents on, what the others say is not relied upon either."""

CALM_PASSES = 6
"""So many passes in a row must find no ground before the hold ends by itself."""


@dataclass(frozen=True)
class Sight:
    """What one pass saw: live servers with a GPU, since when they are idle, and the agents."""

    live: frozenset[LeaseId]
    idle: Mapping[LeaseId, datetime]
    agents: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Breaker:
    """Whether idle stops are held, and on what ground.

    `together` are the servers that turned idle together and still are, `silent` the machines whose
    agents are. `pardoned` are servers and machines that an administrator has looked at: they are no
    ground again until they were well meanwhile.
    """

    since: datetime | None = None
    together: frozenset[LeaseId] = frozenset()
    silent: frozenset[str] = frozenset()
    live: int = 0
    agents: int = 0
    calm: int = 0
    pardoned: frozenset[str] = frozenset()

    @property
    def held(self) -> bool:
        """Whether nobody is stopped as idle now."""
        return self.since is not None


def stops_a_pass(live: int) -> int:
    """Count how many servers may be stopped as idle in one pass, of so many that have a GPU."""
    return max(1, min(MOST_STOPS, live * STOPS_PERCENT // 100))


def weigh(breaker: Breaker, sight: Sight, now: datetime) -> Breaker:
    """Take one pass into account."""
    pardoned = breaker.pardoned & (sight.idle.keys() | sight.silent)
    idle = sight.idle.keys() - pardoned
    fresh = frozenset(one for one in idle if now - sight.idle[one] < TOGETHER)
    still = breaker.together & idle
    live = len(sight.live)
    together = still | (fresh if _many(fresh, live) else frozenset())
    if not _many(together, live):
        together = frozenset()
    silent = sight.silent - pardoned
    if 100 * len(silent) < SILENT_PERCENT * len(sight.agents):
        silent = frozenset()
    if together or silent:
        return Breaker(
            since=breaker.since or now,
            together=together,
            silent=silent,
            live=live,
            agents=len(sight.agents),
            pardoned=pardoned,
        )
    if breaker.held and breaker.calm + 1 < CALM_PASSES:
        return replace(breaker, calm=breaker.calm + 1, pardoned=pardoned)
    return Breaker(pardoned=pardoned)


def release(breaker: Breaker) -> Breaker:
    """End the hold by an administrator's word: its ground is none again."""
    return Breaker(pardoned=breaker.pardoned | breaker.together | breaker.silent)


def words(breaker: Breaker) -> tuple[str, ...]:
    """Say on what ground it is held, a sentence each, with the machines; empty where it is not."""
    n, silent = len(breaker.together), len(breaker.silent)
    sentences = []
    if n:
        sentences.append(
            ngettext(
                "{n} of {live} servers with a GPU turned idle together",
                "{n} of {live} servers with a GPU turned idle together",
                n,
            ).format(n=n, live=breaker.live)
        )
    if silent:
        sentences.append(
            ngettext(
                "{n} of {agents} agents is silent: {names}",
                "{n} of {agents} agents are silent: {names}",
                silent,
            ).format(n=silent, agents=breaker.agents, names=", ".join(sorted(breaker.silent)))
        )
    return tuple(sentences)


def _many(servers: frozenset[LeaseId], live: int) -> bool:
    return len(servers) >= LEAST_TOGETHER and 100 * len(servers) > TOGETHER_PERCENT * live
