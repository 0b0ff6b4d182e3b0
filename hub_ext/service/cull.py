"""Idle servers and ended lifetimes: judge, record, announce, look again, then intend the stop.

`step` decides and is pure; `Culler` gathers and acts. Unknown is never a ground to stop.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from ..i18n import _
from ..idle import STALE_PERIODS, Clocks, exempted, judge, judge_on, lookback, rule_of
from ..lease import (
    GOVERNOR,
    Cause,
    LeaseId,
    LeaseState,
    Notice,
    OpenLease,
    Reason,
    Verdict,
    VerdictState,
)
from ..policy.model import IdleRule, Policy
from ..policy.model_idle import window_of
from ..units import duration_text, whole_seconds
from .budgetclosure import BUDGET_SPENT, GIVEN_MORE
from .closures import BACK_IN_SERVICE, LATER, NOT_NEEDED, RESERVED, Closure
from .governor import Governor
from .stops import kind_of
from .words import ADVICE

LIVE = frozenset({LeaseState.running, LeaseState.noticed})

LONGEST_PERIOD_S = 60.0
"""Slowest agent whose readings are still looked for."""

LOOKS_A_LIMIT = 240
"""A quiet server is judged at most so often within one limit: 4 hours of readings every 5 s
would be read for nothing, and a notice a minute late is no harm then."""


@dataclass(frozen=True)
class Announce:
    """Tell the owner that the server stops, and when."""

    notice: Notice


@dataclass(frozen=True)
class Withdraw:
    """Take an announced stop back."""

    reason: Reason


@dataclass(frozen=True)
class Stop:
    """Stop it now."""

    cause: Cause
    reason: Reason


Step = Announce | Withdraw | Stop | None


def step(
    lease: OpenLease,
    verdict: Verdict | None,
    policy: Policy,
    now: datetime,
    closure: Closure | None = None,
) -> Step:
    """Decide what follows for a live lease.

    In this order: the end of its life; a stop that is due, or no longer justified; the
    announcement that stops it earliest.

    Parameters
    ----------
    verdict
        Judgement of this moment; None where no idle rule is for it.
    closure
        Why its devices are to be given up; None where they are not.
    """
    if lease.ends_at is not None and lease.ends_at <= now:
        return _over(lease, lease.ends_at, policy, now)
    idle = verdict is not None and verdict.state is VerdictState.idle
    notice = lease.notice
    if notice is not None and notice.cause is Cause.culled:
        if not idle or policy.modes.idle == "observe" or _changed_mode(notice, policy):
            return Withdraw(_withdrawn(verdict))
        if notice.stops_at <= now:
            return Stop(Cause.culled, _culled(verdict))
    if notice is not None and _is_closure(notice):
        given_up = _given_up(notice, closure, now)
        if given_up is not None:
            return given_up
    wanted = [_life_notice(lease, policy, now), _closure_notice(closure, now)]
    if idle and policy.modes.idle != "observe":
        wanted.append(_idle_notice(lease, verdict, policy, now))
    return _earliest(notice, [one for one in wanted if one is not None])


_CALLED_OFF = {RESERVED: NOT_NEEDED, BUDGET_SPENT: GIVEN_MORE}
"""What is said where a closure is no more, by the code of its notice."""


def _is_closure(notice: Notice) -> bool:
    """Whether a notice stands only as long as its closure; advice by hand has none."""
    by_hand = notice.cause is Cause.admin and not notice.is_advice
    return by_hand or notice.reason.code in _CALLED_OFF


def _given_up(notice: Notice, closure: Closure | None, now: datetime) -> Step:
    """Stop for a closure whose time has come; take back a notice that no longer holds."""
    if closure is None:
        return Withdraw(_CALLED_OFF.get(notice.reason.code, BACK_IN_SERVICE))
    if notice.stops_at < closure.ends_at:
        return Withdraw(LATER)
    return Stop(closure.cause, closure.ended) if notice.stops_at <= now else None


def _earliest(present: Notice | None, wanted: list[Notice]) -> Step:
    """Announce the earliest stop, if it comes before what was announced; else advise."""
    first = min(wanted, key=lambda notice: (notice.is_advice, notice.stops_at), default=None)
    if first is None or (present is not None and _is_told(present, first)):
        return None
    return Announce(first)


def _is_told(present: Notice, first: Notice) -> bool:
    """Whether what was announced stays; advice gives way to a stop, and to other advice."""
    if present.is_advice:
        # What a person asks stands before what a rule advises.
        by_hand = first.is_advice and present.cause is Cause.admin
        return by_hand or present.reason.code == first.reason.code
    return first.is_advice or present.stops_at <= first.stops_at


def _over(lease: OpenLease, end: datetime, policy: Policy, now: datetime) -> Step:
    """End a life that is over; who was never told, because all slept or a clock jumped, is told."""
    notice = lease.notice
    late = now + policy.notice.lifetime
    if (notice is None or notice.is_advice) and late > now:
        reason = Reason(
            code="lifetime-over-unannounced",
            message=_(
                "The lifetime of this server is over, and nobody could tell you before. Save your "
                "work now."
            ),
        )
        return Announce(Notice(cause=Cause.expired, given_at=now, stops_at=late, reason=reason))
    if notice is not None and notice.cause is Cause.expired and notice.stops_at > now:
        return None
    return Stop(Cause.expired, _life_over(lease, end))


def _closure_notice(closure: Closure | None, now: datetime) -> Notice | None:
    if closure is None:
        return None
    return Notice(
        cause=closure.cause,
        given_at=now,
        stops_at=max(closure.ends_at, now + closure.least),
        reason=closure.reason,
    )


def _life_notice(lease: OpenLease, policy: Policy, now: datetime) -> Notice | None:
    if lease.ends_at is None or now < lease.ends_at - policy.notice.lifetime:
        return None
    return Notice(
        cause=Cause.expired,
        given_at=now,
        stops_at=lease.ends_at,
        reason=Reason(
            code="lifetime-ends",
            message=_(
                "The lifetime of this server is nearly over. Save your work; "
                "extend it if you need more time and the policy still allows it."
            ),
            figures={"left_s": whole_seconds(now, lease.ends_at)},
        ),
    )


def _idle_notice(
    lease: OpenLease, verdict: Verdict | None, policy: Policy, now: datetime
) -> Notice | None:
    found = rule_of(policy, lease, kind_of(lease))
    if found is None or verdict is None:
        return None
    name, rule = found
    if policy.modes.idle == "advise":
        return Notice(
            cause=Cause.culled,
            given_at=now,
            stops_at=lease.ends_at or now + timedelta(days=3650),
            reason=Reason(
                code=ADVICE,
                message=_(
                    "{words} Others may be waiting for this GPU: please stop the server if you "
                    "do not need it. Nothing stops it for this before its lifetime ends."
                ).format(words=verdict.words),
                figures=_figures(name, rule, verdict, now),
            ),
        )
    stops_at = now + rule.notice
    return Notice(
        cause=Cause.culled,
        given_at=now,
        stops_at=stops_at,
        reason=Reason(
            code="idle",
            message=_("{words} Save your work. Using it or keeping it calls the stop off.").format(
                words=verdict.words
            ),
            figures={
                **_figures(name, rule, verdict, now),
                "notice_s": int(rule.notice.total_seconds()),
            },
        ),
    )


def _changed_mode(notice: Notice, policy: Policy) -> bool:
    """Whether advice became a rule or a rule advice since the notice; the other must be given."""
    return (notice.reason.code == ADVICE) != (policy.modes.idle == "advise")


def _figures(name: str, rule: IdleRule, verdict: Verdict, now: datetime) -> dict[str, int | str]:
    return {
        "rule": name,
        "quiet_s": whole_seconds(verdict.quiet_since or now, now),
        "limit_s": int(rule.limit.total_seconds()),
    }


def _life_over(lease: OpenLease, end: datetime) -> Reason:
    life = duration_text(end - (lease.started_at or lease.requested_at))
    return Reason(
        code="lifetime-over",
        message=_(
            "The server was stopped because its lifetime of {life} was over. "
            "Start it again when you need it."
        ).format(life=life),
    )


def _culled(verdict: Verdict | None) -> Reason:
    return Reason(
        code="culled",
        message=_(
            "The server was stopped to free its GPU. {words} Start it again when you need it."
        ).format(words=verdict.words if verdict else ""),
    )


def _withdrawn(verdict: Verdict | None) -> Reason:
    words = verdict.words if verdict else _("No idle rule is for this server any more.")
    return Reason(
        code="not-idle", message=_("The server is not stopped. {words}").format(words=words)
    )


class _Last(NamedTuple):
    """When a lease was last judged, by which rule, and where its witnesses stood then."""

    at: datetime
    rule: IdleRule
    clocks: Clocks


class Culler:
    """Looks at one lease after the other. It remembers only how each was last judged."""

    def __init__(self) -> None:
        self._last: dict[LeaseId, _Last] = {}

    def live(self, governor: Governor, _now: datetime) -> tuple[LeaseId, ...]:
        """Leases to look at in this cycle; none while no policy is in force."""
        if governor.known_policy is None:
            return ()
        live = [lease.id for lease in governor.leases() if lease.state in LIVE]
        known = set(live)
        self._last = {one: last for one, last in self._last.items() if one in known}
        return tuple(live)

    def look(self, governor: Governor, lease_id: LeaseId, now: datetime) -> Step:
        """Judge one lease now and do what follows; return what was done."""
        lease, policy = governor.lease(lease_id), governor.known_policy
        if lease is None or lease.state not in LIVE or policy is None:
            return None
        found = rule_of(policy, lease, kind_of(lease))
        verdict, closure = None, governor.closure(lease, now=now)
        due = found is not None and self._due(lease, found[1], now)
        if found is not None and closure is None and not due:
            return None
        if found is not None and due:
            verdict = self._judge(governor, lease, found, now)
            governor.judged(lease_id, verdict, now=now)
        act = step(lease, verdict, policy, now, closure)
        match act:
            case Announce(notice=notice):
                governor.give_notice(lease_id, notice, evidence=verdict, now=now)
            case Withdraw(reason=reason):
                governor.withdraw_notice(lease_id, reason, now=now)
            case Stop(cause=cause, reason=reason):
                governor.ask_stop(lease_id, cause=cause, reason=reason, actor=GOVERNOR, now=now)
            case None:
                pass
        return act

    def _due(self, lease: OpenLease, rule: IdleRule, now: datetime) -> bool:
        """Whether it is time for another judgement; one that stops it soon is made each cycle.

        Maintenance is announced days before, and says nothing of idleness.
        """
        told = lease.notice is not None and lease.notice.cause is not Cause.admin
        if told or (lease.ends_at is not None and lease.ends_at <= now):
            return True
        last = self._last.get(lease.id)
        # A clock that was set back must not keep a lease from being judged.
        return last is None or not timedelta(0) <= now - last.at < rule.limit / LOOKS_A_LIMIT

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
            whole = governor.readings(lease.id, now - lookback(rule, LONGEST_PERIOD_S), now=now)
            anew = judge(name, rule, lease, whole, now, required_devices=devices, kind=kind)
            verdict = anew if anew.state is not VerdictState.idle else verdict
        self._last[lease.id] = _Last(now, rule, clocks)
        return exempted(verdict, governor.exemption(lease, now=now), now)
