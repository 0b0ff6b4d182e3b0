"""Idle servers and ended lifetimes: judge, record, announce, look again, then intend the stop.

`steps.step` decides; the Culler gathers and acts. What idleness brings about is done in a second
sweep, once a whole pass was weighed: many servers that turn idle together speak of a fault.
"""

import logging
from datetime import datetime, timedelta
from typing import NamedTuple

from ..errors import LedgerError
from ..i18n import _
from ..idle import (
    STALE_PERIODS,
    Clocks,
    exempted,
    judge,
    judge_on,
    lookback,
    looking_again,
    rule_of,
)
from ..lease import GOVERNOR, Cause, LeaseId, LeaseState, OpenLease, Verdict, VerdictState
from ..policy.model import IdleRule, Policy
from ..policy.model_idle import window_of
from .breaker import stops_a_pass
from .governor import Governor
from .steps import Announce, Step, Stop, Withdraw, step
from .stops import kind_of

_LOG = logging.getLogger(__name__)

LIVE = frozenset({LeaseState.running, LeaseState.noticed})

LONGEST_PERIOD_S = 60.0
"""Slowest agent whose readings are still looked for."""

LOOKS_A_LIMIT = 240
"""A quiet server is judged at most so often within one limit: 4 hours of readings every 5 s
would be read for nothing, and a notice a minute late is no harm then."""


class _Last(NamedTuple):
    """When a lease was last judged, by which rule, and where its witnesses stood then."""

    at: datetime
    rule: IdleRule
    clocks: Clocks


class _Seen(NamedTuple):
    """What was found of a lease, and what follows."""

    lease_id: LeaseId
    verdict: Verdict | None
    act: Step


class Culler:
    """Looks at one lease after the other, in two sweeps a pass.

    It remembers how each was last judged, since when each counts as idle, and how many may still
    be stopped as idle in this pass.
    """

    def __init__(self) -> None:
        self._last: dict[LeaseId, _Last] = {}
        self._idle: dict[LeaseId, datetime] = {}
        self._gpus: frozenset[LeaseId] = frozenset()
        self._again: set[LeaseId] = set()
        self._left = stops_a_pass(0)
        self.faults: list[str] = []
        """What went wrong in this pass, each of one lease alone."""

    def live(self, governor: Governor, _now: datetime) -> tuple[LeaseId, ...]:
        """Begin a pass: leases to look at; none while no policy is in force."""
        if governor.known_policy is None:
            return ()
        live = {one.id: one for one in governor.leases() if one.state in LIVE}
        self._last = {one: last for one, last in self._last.items() if one in live}
        self._idle = {one: since for one, since in self._idle.items() if one in live}
        self._gpus = frozenset(one for one, lease in live.items() if lease.pool is not None)
        self._again = set()
        self.faults = []
        self._left = stops_a_pass(len(self._gpus))
        return tuple(live)

    def survey(self, governor: Governor, lease_id: LeaseId, now: datetime) -> bool:
        """Judge one lease in the first sweep; do what does not follow from its idleness.

        Returns whether something would follow from that: such a lease is looked at again in the
        second sweep, when the whole pass is weighed.
        """
        seen = self._decide(governor, lease_id, now)
        if seen is None:
            return False
        if _for_idleness(seen.act):
            self._again.add(lease_id)
            return True
        _carry_out(governor, seen, now)
        return False

    def weigh(self, governor: Governor, now: datetime) -> None:
        """Weigh the first sweep: whether idleness is acted on in the second."""
        if governor.known_policy is not None:
            governor.weigh_idleness(self._gpus, self._idle, now=now)

    def look(self, governor: Governor, lease_id: LeaseId, now: datetime) -> Step:
        """Judge one lease now and do what follows; return what was done."""
        seen = self._decide(governor, lease_id, now)
        self._again.discard(lease_id)
        if seen is None:
            return None
        if isinstance(seen.act, Stop) and _for_idleness(seen.act):
            if self._left <= 0:
                # Its notice stands; its turn comes in the next pass, after a fresh look.
                return None
            self._left -= 1
        _carry_out(governor, seen, now)
        return seen.act

    def _decide(self, governor: Governor, lease_id: LeaseId, now: datetime) -> _Seen | None:
        """Judge one lease and decide what follows; None where there is nothing to look at."""
        lease, policy = governor.lease(lease_id), governor.known_policy
        if lease is None or lease.state not in LIVE or policy is None:
            return None
        found = rule_of(policy, lease, kind_of(lease))
        verdict, closure = None, governor.closure(lease, now=now)
        # The end of a life needs no readings, and waits for none.
        over = lease.ends_at is not None and lease.ends_at <= now
        due = found is not None and not over and self._due(lease, found[1], now)
        if found is not None and closure is None and not due and not over:
            return None
        if found is not None and due:
            verdict = self._judged(governor, lease, found, now)
            governor.judged(lease_id, verdict, now=now)
            self._count(lease, verdict, policy, now)
        act = step(lease, verdict, policy, now, closure, held=governor.idle_held)
        return _Seen(lease_id, verdict, act)

    def _count(self, lease: OpenLease, verdict: Verdict, policy: Policy, now: datetime) -> None:
        """Note since when a lease counts as idle; a notice from before a restart knows it."""
        if verdict.state is not VerdictState.idle or policy.modes.idle == "observe":
            self._idle.pop(lease.id, None)
        elif lease.notice is not None and lease.notice.cause is Cause.culled:
            self._idle.setdefault(lease.id, lease.notice.given_at)
        else:
            self._idle.setdefault(lease.id, now)

    def _due(self, lease: OpenLease, rule: IdleRule, now: datetime) -> bool:
        """Whether it is time for another judgement; one that stops it soon is made each cycle.

        Maintenance is announced days before, and says nothing of idleness.
        """
        told = lease.notice is not None and lease.notice.cause is not Cause.admin
        if told or lease.id in self._again:
            return True
        last = self._last.get(lease.id)
        # A clock that was set back must not keep a lease from being judged.
        return last is None or not timedelta(0) <= now - last.at < rule.limit / LOOKS_A_LIMIT

    def _judged(
        self, governor: Governor, lease: OpenLease, found: tuple[str, IdleRule], now: datetime
    ) -> Verdict:
        """Judge one lease; a fault there is unknown, and of this lease alone."""
        try:
            return self._judge(governor, lease, found, now)
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001 - one lease must not keep the others unjudged
            self._last.pop(lease.id, None)
            _LOG.exception("%s could not be judged", lease.key)
            self.faults.append(str(error) or type(error).__name__)
            return Verdict(
                state=VerdictState.unknown,
                rule=found[0],
                at=now,
                quiet_since=None,
                limit_s=None,
                words=_(
                    "Its readings could not be judged; the governor's log says why. Unknown is "
                    "never idle."
                ),
            )

    def _judge(
        self, governor: Governor, lease: OpenLease, found: tuple[str, IdleRule], now: datetime
    ) -> Verdict:
        name, rule = found
        kind, devices = kind_of(lease), governor.held_devices(lease, now=now)
        last = self._last.get(lease.id)
        # Another rule, or a clock that was set back, begins anew.
        goes_on = last is not None and last.rule == rule and last.at <= now
        former = last.clocks if last is not None and goes_on else Clocks()
        since = now - lookback(rule, LONGEST_PERIOD_S)
        if last is not None and goes_on:
            gap = timedelta(seconds=STALE_PERIODS * LONGEST_PERIOD_S)
            since = max(since, last.at - window_of(rule) - gap)
        readings = governor.readings(lease.id, since, now=now)
        verdict, clocks = judge_on(
            former, name, rule, lease, readings, now, required_devices=devices, kind=kind
        )
        if verdict.state is VerdictState.idle and goes_on:
            # Before anything follows from it, everything is looked at once more.
            behind = looking_again(rule, verdict, LONGEST_PERIOD_S)
            whole = governor.readings(lease.id, now - behind, now=now)
            anew = judge(name, rule, lease, whole, now, required_devices=devices, kind=kind)
            verdict = anew if anew.state is not VerdictState.idle else verdict
        self._last[lease.id] = _Last(now, rule, clocks)
        return exempted(verdict, governor.exemption(lease, now=now), now)


def _for_idleness(act: Step) -> bool:
    """Whether idleness alone brings it about; what it takes back is never held."""
    match act:
        case Announce(notice=notice):
            return notice.cause is Cause.culled
        case Stop(cause=cause):
            return cause is Cause.culled
        case _:
            return False


def _carry_out(governor: Governor, seen: _Seen, now: datetime) -> None:
    match seen.act:
        case Announce(notice=notice):
            governor.give_notice(seen.lease_id, notice, evidence=seen.verdict, now=now)
        case Withdraw(reason=reason):
            governor.withdraw_notice(seen.lease_id, reason, now=now)
        case Stop(cause=cause, reason=reason):
            governor.ask_stop(seen.lease_id, cause=cause, reason=reason, actor=GOVERNOR, now=now)
        case None:
            pass
