"""Announced and asked stops, and what a person may do against them: extend; `keeps` has the other.

A stop is an intent first; the effect is made outside the lock, and the lease closes only when
the server is proved gone.
"""

from datetime import datetime, timedelta

from ...admission.announced import bound_of
from ...lease import GOVERNOR, Actor, Cause, LeaseId, LeaseState, Notice, OpenLease, Reason, Verdict
from ...mig.geometry import SHARE
from ...policy.model import FlavorKind
from ...units import whole_seconds
from ..basis.refusals import beyond_announced, beyond_longest, lease_over
from ..books.desk import Desk, Turn
from ..leasing.closing import End, close
from ..money.paying import pay_for

STOP = "stop"
"""Kind of the intent to stop a server through the hub."""

ACTED_ON = "verdict.acted_on"
"""Kind of the event: the judgement that a stop for idleness rests on."""

_LIVE = frozenset({LeaseState.running, LeaseState.noticed})


def ask_stop(
    desk: Desk, lease_id: LeaseId, *, cause: Cause, reason: Reason, actor: Actor, now: datetime
) -> OpenLease:
    """Move a lease to stopping and intend the stop; one that stops already keeps its cause.

    Raises
    ------
    RefusedError
        When there is no such lease.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if not lease.open or lease.state is LeaseState.stopping:
            return lease
        return stop(turn, lease, cause=cause, reason=reason)


def stop(turn: Turn, lease: OpenLease, *, cause: Cause, reason: Reason) -> OpenLease:
    """Move an open lease that does not stop yet to stopping, or close it where nothing started."""
    if lease.state in {LeaseState.requested, LeaseState.queued, LeaseState.held}:
        return close(turn, lease, End(Cause.cancelled, reason=reason))
    decision = _acted_on(turn, lease) if cause is Cause.culled else ""
    stopping = lease.model_copy(
        update={
            "state": LeaseState.stopping,
            "state_since": turn.now,
            "stop_asked_at": turn.now,
            "cause": cause,
            "reason": reason,
            "decision": decision,
        }
    )
    body = {"v": 1, "key": lease.key.model_dump(mode="json"), "cause": cause.value}
    if decision:
        body["decision"] = decision
    turn.tx.intend(STOP, lease.id, body, at=turn.now)
    return turn.record(stopping)


def _acted_on(turn: Turn, lease: OpenLease) -> str:
    """Record the last look before a stop for idleness; return the decision that it belongs to.

    The notice has the evidence of its own moment; what the stop rests on was seen minutes later.
    """
    last = turn.desk.verdicts.get(lease.id)
    if last is None:
        return lease.notice.decision if lease.notice is not None else ""
    turn.note(ACTED_ON, lease, {"v": 1, "verdict": last.model_dump(mode="json")})
    return last.decision


def take_back(desk: Desk, lease_id: LeaseId, reason: Reason, *, now: datetime) -> OpenLease:
    """Take back a stop for idleness that nobody was asked for yet: it runs on, without a notice.

    Only the intent knows whether anybody was asked, so only who carries it out may call this.
    """
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        if lease.state is not LeaseState.stopping or lease.cause is not Cause.culled:
            return lease
        for intent in turn.tx.intents(lease_id):
            if intent.kind == STOP:
                turn.tx.settle(intent.id, "taken back", at=now)
        changes = {"stop_asked_at": None, "cause": None, "reason": None, "decision": ""}
        return turn.record(withdrawn(turn, lease.model_copy(update=changes), reason))


def give_notice(
    desk: Desk, lease_id: LeaseId, notice: Notice, *, evidence: Verdict | None, now: datetime
) -> OpenLease:
    """Announce a stop with its evidence, or advise.

    Of two notices the one that stops earlier stands. Advice gives way to every stop, and to newer
    advice.
    """
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        if lease.state not in _LIVE:
            return lease
        if lease.notice is not None and _stands(lease.notice, notice):
            return lease
        turn.note(
            "notice.given",
            lease,
            {
                "v": 1,
                "notice": notice.model_dump(mode="json"),
                "evidence": evidence.model_dump(mode="json") if evidence else None,
            },
        )
        return turn.record(
            lease.model_copy(
                update={
                    "state": LeaseState.noticed,
                    "state_since": lease.state_since if lease.state is LeaseState.noticed else now,
                    "notice": notice,
                }
            )
        )


def _stands(present: Notice, fresh: Notice) -> bool:
    """Whether a notice stays in place of another."""
    if present.is_advice:
        return False
    return fresh.is_advice or present.stops_at <= fresh.stops_at


def withdraw_notice(
    desk: Desk,
    lease_id: LeaseId,
    reason: Reason,
    *,
    actor: Actor = GOVERNOR,
    by_owner: bool = False,
    now: datetime,
) -> OpenLease:
    """Take an announced stop back; `by_owner`: for what its owner could forge."""
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if lease.state is not LeaseState.noticed:
            return lease
        back = withdrawn(turn, lease, reason)
        return turn.record(back.model_copy(update={"returned_at": now}) if by_owner else back)


def extend(
    desk: Desk, lease_id: LeaseId, *, seconds: int, actor: Actor, now: datetime
) -> OpenLease:
    """Move the end of a lease, at most to the longest life agreed at its start.

    Raises
    ------
    RefusedError
        When it is ending, when it would live longer, or when a budget does not pay for that; the
        figures say how much is possible.
    """
    with desk.turn(now, actor) as turn:
        lease = turn.found(lease_id)
        if lease.state not in _LIVE | {LeaseState.starting}:
            raise lease_over(lease)
        most_s, why = most_extension(turn, lease)
        if lease.ends_at is None or seconds > most_s:
            raise beyond_announced(lease, most_s, why) if why else beyond_longest(lease, most_s)
        end = lease.ends_at + timedelta(seconds=seconds)
        pay_for(turn, lease, end)
        longer = lease.model_copy(update={"ends_at": end})
        if lease.notice is not None and lease.notice.cause is Cause.expired:
            longer = withdrawn(turn, longer, None)
        return turn.record(longer)


def kind_of(lease: OpenLease) -> FlavorKind:
    """Kind of a lease's flavor, as idle rules name it."""
    if lease.pool is None:
        return "none"
    if lease.flavor.startswith("gpu-"):
        return "gpu"
    return "share" if lease.flavor.startswith(SHARE) else "mig"


def extend_max_s(lease: OpenLease) -> int:
    """Most seconds by which the end of a lease can still move."""
    if lease.ends_at is None or lease.longest_end_at is None:
        return 0
    return whole_seconds(lease.ends_at, lease.longest_end_at)


def most_extension(turn: Turn, lease: OpenLease) -> tuple[int, str]:
    """Most seconds by which its end can move now, and what is announced that allows no more."""
    most_s = extend_max_s(lease)
    none_announced = not turn.desk.outages.announced(turn.now) and not turn.tx.reservations()
    if not most_s or lease.ends_at is None or none_announced or turn.desk.book.known is None:
        return most_s, ""
    end, why = bound_of(turn.snapshot(), lease)
    bound_s = most_s if end is None else whole_seconds(lease.ends_at, end)
    return (bound_s, why) if bound_s < most_s else (most_s, "")


def withdrawn(turn: Turn, lease: OpenLease, reason: Reason | None) -> OpenLease:
    """Give the lease without its notice, and record that; the caller records the lease."""
    notice = lease.notice.model_dump(mode="json") if lease.notice else None
    why = reason.model_dump(mode="json") if reason else None
    turn.note("notice.withdrawn", lease, {"v": 1, "notice": notice, "reason": why})
    return lease.model_copy(
        update={
            "state": LeaseState.running,
            "state_since": turn.now,
            "notice": None,
        }
    )
