"""Idle servers and ended lifetimes: judge, record, announce, look again, then intend the stop.

`steps.step` decides; the Culler gathers and acts. What idleness brings about is done in a second
sweep, once a whole pass was weighed: many servers that turn idle together speak of a fault.
"""

import logging
from datetime import datetime
from typing import NamedTuple

from ...idle import rule_of
from ...lease import GOVERNOR, Cause, LeaseId, LeaseState, OpenLease, Verdict, VerdictState
from ...policy.model import IdleRule, Policy
from ..books.breaker import stops_a_pass
from ..core.governor import Governor
from ..reclaim import smaller
from ..reclaim.smaller import Smaller
from ..reclaim.stops import kind_of
from .steps import Announce, KeepOn, Step, Stop, Withdraw, needs_keep, step
from .trialwatch import TrialWatch
from .verdicts import Judge, Reader

_LOG = logging.getLogger(__name__)

LIVE = frozenset({LeaseState.running, LeaseState.noticed})


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
        self._judge = Judge()
        self._trials = TrialWatch()
        self._idle: dict[LeaseId, datetime] = {}
        self._gpus: frozenset[LeaseId] = frozenset()
        self._again: set[LeaseId] = set()
        self._left = 1

    @property
    def faults(self) -> list[str]:
        """What went wrong in this pass, each of one lease alone."""
        return [*self._judge.faults, *self._trials.faults]

    def live(self, governor: Governor, now: datetime) -> tuple[LeaseId, ...]:
        """Begin a pass: leases to look at; none while no policy is in force."""
        policy = governor.known_policy
        if policy is None:
            return ()
        live = {one.id: one for one in governor.leases() if one.state in LIVE}
        self._judge.begin(governor, live, now)
        self._trials.begin(governor, live, now)
        self._idle = {one: since for one, since in self._idle.items() if one in live}
        self._gpus = frozenset(one for one, lease in live.items() if lease.pool is not None)
        self._again = set()
        self._left = stops_a_pass(len(self._gpus), policy.idle_stops)
        return tuple(live)

    def survey(self, governor: Governor, lease_id: LeaseId, now: datetime) -> bool:
        """Judge one lease in the first sweep; do what does not follow from its idleness.

        Returns whether something would follow from that: such a lease is looked at again in the
        second sweep, when the whole pass is weighed.
        """
        lease = governor.lease(lease_id)
        if lease is None:
            return False
        reader = Reader(governor, lease, now)
        seen = self._decide(reader, now)
        self._trials.look(reader, lease, now)
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
        lease = governor.lease(lease_id)
        seen = None if lease is None else self._decide(Reader(governor, lease, now), now)
        self._again.discard(lease_id)
        if lease is None or seen is None:
            return None
        if isinstance(seen.act, Stop) and _for_idleness(seen.act):
            if self._left <= 0:
                # Its notice stands; its turn comes in the next pass, after a fresh look.
                return None
            self._left -= 1
            self._trials.stopped(governor, lease, now)
        _carry_out(governor, seen, now)
        return seen.act

    def _decide(self, reader: Reader, now: datetime) -> _Seen | None:
        """Judge one lease and decide what follows; None where there is nothing to look at."""
        governor, lease = reader.governor, reader.lease
        policy = governor.known_policy
        if lease.state not in LIVE or policy is None:
            return None
        found = rule_of(policy, lease, kind_of(lease))
        if found is None:
            self._idle.pop(lease.id, None)
            governor.unjudged(lease.id)
        verdict, closure = None, governor.closure(lease, now=now)
        # The end of a life needs no readings, and waits for none.
        over = lease.ends_at is not None and lease.ends_at <= now
        due = found is not None and not over and self._due(lease, found[1], now)
        if found is not None and closure is None and not due and not over:
            return None
        if found is not None and due:
            rule = found[1]
            verdict = governor.unchanged(lease, rule, now=now) or governor.judged(
                lease.id, self._judge.judged(reader, found), rule=rule, now=now
            )
            self._count(lease, verdict, policy, now)
        can_keep = not needs_keep(lease, verdict) or governor.can_keep(lease, now=now)
        held = governor.idle_held
        less = _less(reader, verdict, found, now)
        act = step(lease, verdict, policy, now, closure, held=held, can_keep=can_keep, less=less)
        return _Seen(lease.id, verdict, act)

    def _count(self, lease: OpenLease, verdict: Verdict, policy: Policy, now: datetime) -> None:
        """Note since when a lease counts as idle; a notice from before a restart knows it."""
        unused = verdict.ground == "gpu_unused"
        if verdict.state is not VerdictState.idle or unused or policy.modes.idle == "observe":
            # Who waits for an unused GPU says nothing of the readings.
            self._idle.pop(lease.id, None)
        elif (
            lease.notice is not None
            and lease.notice.cause is Cause.culled
            and not smaller.is_told(lease)
        ):
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
        return self._judge.due(lease, rule, now)


def _less(
    reader: Reader, verdict: Verdict | None, found: tuple[str, IdleRule] | None, now: datetime
) -> Smaller | None:
    """Look for a smaller profile where its owner is to be advised one; what was said stays."""
    if verdict is None or found is None or not smaller.is_due(verdict, found[1], now):
        return None
    notice = reader.lease.notice
    if notice is not None:
        return smaller.of_notice(notice) if smaller.is_told(reader.lease) else None
    return reader.governor.smaller_offer(reader.lease, now=now)


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
    if _for_idleness(seen.act) and seen.verdict is not None:
        act = type(seen.act).__name__.lower()
        _LOG.info("%s of %s for idleness, decision %s", act, seen.lease_id, seen.verdict.decision)
    match seen.act:
        case Announce(notice=notice):
            governor.give_notice(seen.lease_id, notice, evidence=seen.verdict, now=now)
        case Withdraw(reason=reason, by_owner=by_owner):
            governor.withdraw_notice(seen.lease_id, reason, by_owner=by_owner, now=now)
        case KeepOn(reason=reason):
            governor.keep_by_use(seen.lease_id, reason, now=now)
        case Stop(cause=cause, reason=reason):
            governor.ask_stop(seen.lease_id, cause=cause, reason=reason, actor=GOVERNOR, now=now)
        case None:
            pass
