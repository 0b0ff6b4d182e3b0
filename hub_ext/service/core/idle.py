"""The core's part that says whether idleness is acted on at all.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Mapping
from datetime import datetime

from ...idle import rule_of
from ...lease import Actor, LeaseId, OpenLease, Reason, Verdict
from ...lease.idling import IdleSheet
from ...lease.trying import TrialSheet
from ...policy.model import IdleRule
from ..books.breaker import Breaker
from ..books.desk import Desk
from ..leasing.dossier import evidence, judgements
from ..reclaim import gpuwanted, idleholds, stops, trials, wouldstops
from ..reclaim.stops import kind_of


class IdleCore:
    """Everything of the governor that stands between a verdict and what follows from it."""

    _desk: Desk

    @property
    def idle_held(self) -> Reason | None:
        """Why nobody is stopped as idle now; None while idleness is acted on."""
        return idleholds.NOT_STOPPED if self._desk.breaker.held else None

    def weigh_idleness(
        self, live: frozenset[LeaseId], idle: Mapping[LeaseId, datetime], *, now: datetime
    ) -> Breaker:
        """Weigh one pass over all live servers; see `idleholds.weigh`."""
        return idleholds.weigh(self._desk, live, idle, now=now)

    def release_idle(self, *, reason: str, actor: Actor, now: datetime) -> IdleSheet:
        """Let idle stops go on; see `idleholds.release`."""
        return idleholds.release(self._desk, reason=reason, actor=actor, now=now)

    def idleness(self, *, now: datetime) -> IdleSheet:
        """Show whether idle stops are held."""
        return idleholds.sheet(self._desk, now=now)

    def evidence_of(self, lease: OpenLease, *, now: datetime) -> Verdict | None:
        """Give the newest judgement of a lease: in memory, or as a former governor recorded it."""
        found = self._desk.verdicts.get(lease.id)
        if found is not None:
            return found
        with self._desk.turn(now) as turn:
            return evidence(lease, judgements(turn.tx, lease.id), None)

    def take_back(self, lease_id: LeaseId, reason: Reason, *, now: datetime) -> OpenLease:
        """Take back a stop for idleness that nobody was asked for yet; see `stops.take_back`."""
        return stops.take_back(self._desk, lease_id, reason, now=now)

    def unjudged(self, lease_id: LeaseId) -> None:
        """Let go of the verdict of a lease that no rule is for any more."""
        self._desk.verdicts.pop(lease_id, None)

    def wanted_gpus(
        self, unused: Mapping[LeaseId, datetime], *, now: datetime
    ) -> frozenset[LeaseId]:
        """Choose whose unused GPU lets somebody start who waits; see `gpuwanted.wanted`."""
        return gpuwanted.wanted(self._desk, unused, now=now)

    # Rules on trial

    def on_trial(self, lease: OpenLease) -> tuple[str, IdleRule] | None:
        """Find the declared rule for a lease, where that is on trial."""
        book = self._desk.book
        if book.declared is None or not book.switched.trials:
            return None
        found = rule_of(book.declared, lease, kind_of(lease))
        return found if found is not None and found[0] in book.switched.trials else None

    def would_be_stopped(self, lease: OpenLease, rule: str) -> bool:
        """Whether a rule on trial would have stopped a lease, and nobody worked in it since."""
        return (rule, lease.id) in self._desk.book.trials.open

    def would_stop(self, lease: OpenLease, rule: str, verdict: Verdict, *, now: datetime) -> None:
        """Record what a rule on trial would do now; see `wouldstops.would_stop`."""
        wouldstops.would_stop(self._desk, lease, rule, verdict, now=now)

    def would_work(self, lease: OpenLease, rule: str, verdict: Verdict, *, now: datetime) -> None:
        """Record that a stop would have hit somebody's work; see `wouldstops.would_work`."""
        wouldstops.would_work(self._desk, lease, rule, verdict, now=now)

    def would_keep(self, lease: OpenLease, rule: str, *, now: datetime) -> None:
        """Record a stop that a rule on trial would not make; see `wouldstops.would_keep`."""
        wouldstops.would_keep(self._desk, lease, rule, now=now)

    def tick_trials(self, live: Mapping[LeaseId, OpenLease], *, now: datetime) -> None:
        """Count a pass over all live leases; see `wouldstops.tick`."""
        wouldstops.tick(self._desk, live, now=now)

    def trials_by_state(self) -> tuple[int, int]:
        """Count idle rules that are still tried, and those that wait to be switched on."""
        return trials.by_state(self._desk)

    def idle_trials(self, *, now: datetime) -> TrialSheet:
        """Report on the idle rules on trial."""
        return trials.sheet(self._desk, now=now)

    def switch_idle_on(
        self, rule: str, *, before_its_time: bool, reason: str, actor: Actor, now: datetime
    ) -> TrialSheet:
        """Let a rule on trial act; see `trials.switch_on`."""
        return trials.switch_on(
            self._desk, rule, before_its_time=before_its_time, reason=reason, actor=actor, now=now
        )
