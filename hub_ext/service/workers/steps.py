"""What follows for one live lease: announce a stop, take that back, stop it, or nothing.

Pure: `cull` gathers what it looks at and carries it out. Unknown is never a ground to stop.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...i18n import _
from ...idle import rule_of
from ...lease import Cause, Notice, OpenLease, Reason, Verdict, VerdictState
from ...policy.model import IdleRule, Policy
from ...units import duration_text, whole_seconds
from ..basis.words import ADVICE
from ..books.budgetclosure import BUDGET_SPENT, GIVEN_MORE
from ..devices.closures import BACK_IN_SERVICE, LATER, NOT_NEEDED, RESERVED, Closure
from ..reclaim import smaller
from ..reclaim.smaller import Smaller
from ..reclaim.stops import kind_of


@dataclass(frozen=True)
class Announce:
    """Tell the owner that the server stops, and when."""

    notice: Notice


@dataclass(frozen=True)
class Withdraw:
    """Take an announced stop back; `by_owner`: for what its owner could forge, once an episode."""

    reason: Reason
    by_owner: bool = False


@dataclass(frozen=True)
class KeepOn:
    """Take it back at the cost of the owner's keep: what they could forge did so before."""

    reason: Reason


@dataclass(frozen=True)
class Stop:
    """Stop it now."""

    cause: Cause
    reason: Reason


Step = Announce | Withdraw | KeepOn | Stop | None


def step(  # noqa: PLR0913 - what a decision stands on, each named at its calls
    lease: OpenLease,
    verdict: Verdict | None,
    policy: Policy,
    now: datetime,
    closure: Closure | None = None,
    *,
    held: Reason | None = None,
    can_keep: bool = True,
    less: Smaller | None = None,
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
    can_keep
        Whether the owner's budget has a keep left, for where `needs_keep`.
    less
        A smaller profile that its owner is to be advised; None where they are not.
    """
    if lease.ends_at is not None and lease.ends_at <= now:
        return _over(lease, lease.ends_at, policy, now)
    idle = verdict is not None and verdict.state is VerdictState.idle
    notice = lease.notice
    told = smaller.is_told(lease)
    if notice is not None and notice.cause is Cause.culled and not told:
        off = _called_off(lease, verdict, policy, held, can_keep=can_keep)
        if off is not None:
            return off
        if notice.stops_at <= now:
            return Stop(Cause.culled, _culled(verdict))
    if notice is not None and _is_closure(notice):
        given_up = _given_up(notice, closure, now)
        if given_up is not None:
            return given_up
    if told and not idle and (less is None or policy.modes.idle == "observe"):
        return Withdraw(smaller.OVER)
    wanted = [
        _life_notice(lease, policy, now),
        _closure_notice(closure, now),
        _less_notice(lease, verdict, less, policy, now),
    ]
    if idle and held is None and policy.modes.idle != "observe":
        wanted.append(_idle_notice(lease, verdict, policy, now))
    return _earliest(notice, [one for one in wanted if one is not None])


def _called_off(
    lease: OpenLease,
    verdict: Verdict | None,
    policy: Policy,
    held: Reason | None,
    *,
    can_keep: bool,
) -> Withdraw | KeepOn | None:
    """Take an idle notice back; None where it stands."""
    enforced = policy.modes.idle == "enforce"
    idle = verdict is not None and verdict.state is VerdictState.idle
    if enforced and needs_keep(lease, verdict):
        if can_keep:
            return KeepOn(_kept_on(verdict))
        # Nothing is left that pays for it: the notice stands, as for one that is idle.
        idle = True
    changed = lease.notice is not None and _changed_mode(lease.notice, policy)
    if not idle or policy.modes.idle == "observe" or changed:
        return Withdraw(_withdrawn(verdict), by_owner=enforced and _by_owner(lease, verdict))
    return None if held is None else Withdraw(held)


_OWNERS = frozenset({"input", "cell", "kernel"})
"""What holds idleness off that the server says of itself."""


def needs_keep(lease: OpenLease, verdict: Verdict | None) -> bool:
    """Whether only what its owner could forge speaks against a notice, for the second time.

    The first time is free. A new episode begins with the next use that the agent sees.
    """
    if verdict is None or not _by_owner(lease, verdict) or lease.returned_at is None:
        return False
    return verdict.agent_quiet_since is not None and verdict.agent_quiet_since <= lease.returned_at


def _by_owner(lease: OpenLease, verdict: Verdict | None) -> bool:
    notice = lease.notice
    if verdict is None or notice is None or verdict.agent_quiet_since is None:
        return False
    quiet = verdict.state is VerdictState.quiet and verdict.held_by in _OWNERS
    return quiet and notice.cause is Cause.culled and verdict.agent_quiet_since <= notice.given_at


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


def _less_notice(
    lease: OpenLease,
    verdict: Verdict | None,
    less: Smaller | None,
    policy: Policy,
    now: datetime,
) -> Notice | None:
    """Advise a smaller profile where nothing else is told."""
    if less is None or verdict is None or lease.notice is not None:
        return None
    return None if policy.modes.idle == "observe" else smaller.notice(lease, verdict, less, now)


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
    active = [] if verdict is None else [x for x in verdict.signals if x.state == "active"]
    seen = ", ".join(f"{one.name} {one.value}" for one in active if one.trust == "agent")
    if seen:
        words = _("{words} Seen: {seen}.").format(words=words, seen=seen)
    return Reason(
        code="not-idle", message=_("The server is not stopped. {words}").format(words=words)
    )


def _kept_on(verdict: Verdict | None) -> Reason:
    return Reason(
        code="kept-by-use",
        message=_(
            "The server is not stopped. {words} Its GPU and CPU did nothing since it was last "
            "called off, so this is taken from what you may keep servers for."
        ).format(words=verdict.words if verdict else ""),
    )
