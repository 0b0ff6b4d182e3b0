"""How many idle stops one pass may make, and when nobody is stopped as idle at all.

Many servers that turn idle together, or agents that fall silent, speak of a fault of the readings
and not of the people. Pure: it holds what earlier passes found, and knows no clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ...i18n import ngettext
from ...lease import LeaseId
from ...policy.model import IdleStops

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


def stops_a_pass(live: int, stops: IdleStops) -> int:
    """Count how many servers may be stopped as idle in one pass, of so many that have a GPU."""
    return max(1, min(stops.most_a_pass, live * stops.percent_a_pass // 100))


def weigh(breaker: Breaker, sight: Sight, now: datetime, stops: IdleStops) -> Breaker:
    """Take one pass into account, by what the policy says of idle stops."""
    pardoned = breaker.pardoned & (sight.idle.keys() | sight.silent)
    idle = sight.idle.keys() - pardoned
    fresh = frozenset(one for one in idle if now - sight.idle[one] < stops.together_within)
    still = breaker.together & idle
    live = len(sight.live)
    together = still | (fresh if _many(fresh, live, stops) else frozenset())
    if not _many(together, live, stops):
        together = frozenset()
    silent = sight.silent - pardoned
    enough = 100 * len(silent) >= stops.silent_percent * len(sight.agents)
    if len(silent) < stops.silent_least or not enough:
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


def _many(servers: frozenset[LeaseId], live: int, stops: IdleStops) -> bool:
    share = 100 * len(servers) > stops.together_percent * live
    return share and len(servers) >= stops.together_least
