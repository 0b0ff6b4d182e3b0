"""What follows for one live lease: announce a stop, take that back, stop it, or nothing.

Pure: `cull` gathers what it looks at and carries it out. Unknown is never a ground to stop.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..i18n import _
from ..idle import rule_of
from ..lease import (
    Cause,
    Notice,
    OpenLease,
    Reason,
    Verdict,
    VerdictState,
)
from ..policy.model import IdleRule, Policy
from ..units import duration_text, whole_seconds
from .budgetclosure import BUDGET_SPENT, GIVEN_MORE
from .closures import BACK_IN_SERVICE, LATER, NOT_NEEDED, RESERVED, Closure
from .stops import kind_of
from .words import ADVICE


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
    *,
    held: Reason | None = None,
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
    held
        Why nobody is told or stopped for idleness now; None where they are.
    """
    if lease.ends_at is not None and lease.ends_at <= now:
        return _over(lease, lease.ends_at, policy, now)
    idle = verdict is not None and verdict.state is VerdictState.idle
    notice = lease.notice
    if notice is not None and notice.cause is Cause.culled:
        if not idle or policy.modes.idle == "observe" or _changed_mode(notice, policy):
            return Withdraw(_withdrawn(verdict))
        if held is not None:
            return Withdraw(held)
        if notice.stops_at <= now:
            return Stop(Cause.culled, _culled(verdict))
    if notice is not None and _is_closure(notice):
        given_up = _given_up(notice, closure, now)
        if given_up is not None:
            return given_up
    wanted = [_life_notice(lease, policy, now), _closure_notice(closure, now)]
    if idle and held is None and policy.modes.idle != "observe":
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
            decision=verdict.decision,
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
        decision=verdict.decision,
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
