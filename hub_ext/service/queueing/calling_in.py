"""Calls carried out: announced, looked at again, taken back, and stopped when they are due.

One turn looks at all of them afresh, so that what is stopped is needed in that very moment, and
a governor that starts again goes on from what is recorded.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...admission.call_words import not_needed, stopped
from ...admission.calling import Call, GivenUp, Plan, plan
from ...admission.priority import started
from ...admission.protection import LIVE
from ...admission.snapshot import Snapshot
from ...lease import CalledIn, Cause, Event, LeaseId, LeaseState, Notice, OpenLease, Reason
from ..books.desk import Desk, Turn
from ..books.kueueforeign import is_foreign
from ..kueue.intents import taken_back
from ..reclaim.stops import stop
from .tickets import release, settle_starts

WOULD_CALL = "call.unenforced"
"""Kind of the event: a lease would have been called in, were quota enforced."""

FAR = timedelta(days=1)

_GIVEN, _WITHDRAWN = "notice.given", "notice.withdrawn"


LOOK_AGAIN = timedelta(seconds=5)
"""Where nothing was written, the plan is made anew after so long: time alone ends protections."""


@dataclass(frozen=True)
class Sight:
    """What a plan is made from, beside the core, and the record that it saw last."""

    snapshot: Snapshot
    head: int


def look(desk: Desk, *, now: datetime) -> Sight | None:
    """Take what a plan needs; None where nothing is to be planned or nothing has changed."""
    if desk.book.known is None:
        return None
    with desk.turn(now) as turn:
        leases = turn.tx.leases()
        due = [one.called_in.stops_at for one in leases if one.called_in and one.state in LIVE]
        if not due and not any(one.state is LeaseState.queued for one in leases):
            return None
        head, seen = turn.tx.head(), desk.calls_planned
        fresh = seen is not None and timedelta(0) <= now - seen[1] < LOOK_AGAIN
        if fresh and seen is not None and seen[0] == head and now < min(due, default=now + FAR):
            return None
        return Sight(turn.snapshot(), head)


def settle(desk: Desk, sight: Sight, planned: Plan, *, now: datetime) -> bool:
    """Carry a plan out, if nothing was written since it was begun; whether it was."""
    with desk.turn(now) as turn:
        if turn.tx.head() != sight.head:
            return False
        _settle(turn, planned)
        desk.calls_planned = (turn.tx.head(), now)
        return True


def review(desk: Desk, *, now: datetime) -> int:
    """Bring all calls in line with what is needed now; return how many leases are called in."""
    if desk.book.known is None:
        return 0
    with desk.turn(now) as turn:
        waits = any(one.state is LeaseState.queued for one in turn.tx.leases())
        return _settle(turn, plan(turn.snapshot()) if waits else Plan())


def _settle(turn: Turn, planned: Plan) -> int:
    leases = turn.tx.leases()
    called = [one for one in leases if one.called_in is not None and one.state in LIVE]
    # Batch work gets no notice: Kueue takes it as soon as its caller's number is written.
    calls = {call.victim: call for call in planned.calls if not is_foreign(call.victim)}
    if turn.desk.book.policy.modes.quota != "enforce":
        _note_unenforced(turn, calls)
        calls = {}
        planned = Plan(served=planned.served)
    for lease in called:
        if lease.id not in calls:
            _take_back(turn, lease)
    for hold in planned.given_up:
        _give_up(turn, turn.found(hold.lease_id), hold)
    for call in calls.values():
        _carry_on(turn, turn.found(call.victim), call)
    waits = [one for one in leases if one.state is LeaseState.queued]
    callers = {call.for_lease for call in planned.calls}
    callers |= {hold.for_lease for hold in planned.given_up}
    _mark_callers(turn, waits, callers, planned.served)
    return len(calls)


def _give_up(turn: Turn, lease: OpenLease, hold: GivenUp) -> None:
    """Put a request back to its place, with as many holds left as before."""
    settle_starts(turn, lease)
    back = release(turn, lease, hold.reason)
    turn.record(back.model_copy(update={"holds": lease.holds - 1}))


def _carry_on(turn: Turn, lease: OpenLease, call: Call) -> None:
    """Take one call a step further: announce it, keep it true, or stop what it is due for."""
    if lease.called_in is None:
        _announce(turn, _called(lease, call, turn.now), call)
    elif lease.called_in.stops_at <= turn.now:
        stop(turn, lease, cause=Cause.preempted, reason=stopped(lease.called_in.reason))
    else:
        _keep_true(turn, lease, call)


def _called(lease: OpenLease, call: Call, now: datetime) -> OpenLease:
    return lease.model_copy(
        update={
            "called_in": CalledIn(
                for_lease=call.for_lease, since=now, stops_at=call.stops_at, reason=call.reason
            ),
            "priority": lease.weight,
        }
    )


def _keep_true(turn: Turn, lease: OpenLease, call: Call) -> None:
    """Say it again where another notice stood in front and is gone; name whom it is for now.

    A clock that was set back does not make the notice longer than it was.
    """
    known = lease.called_in
    if known is None:
        return
    back = max(timedelta(0), known.since - turn.now)
    changed = known.model_copy(
        update={
            "for_lease": call.for_lease,
            "reason": call.reason,
            "since": known.since - back,
            "stops_at": known.stops_at - back,
        }
    )
    notice = lease.notice
    if notice is None or notice.stops_at > changed.stops_at:
        due = call.model_copy(update={"stops_at": changed.stops_at})
        _announce(turn, lease.model_copy(update={"called_in": changed}), due)
    elif changed != known:
        turn.record(lease.model_copy(update={"called_in": changed}))


def _announce(turn: Turn, lease: OpenLease, call: Call) -> None:
    """Give the notice with its evidence; an earlier stop that is announced already stands."""
    notice = Notice(
        cause=Cause.preempted, given_at=turn.now, stops_at=call.stops_at, reason=call.reason
    )
    turn.note(_GIVEN, lease, _evidence(turn, notice, call))
    shown = lease.notice
    if shown is None or shown.stops_at > notice.stops_at:
        shown = notice
    since = lease.state_since if lease.state is LeaseState.noticed else turn.now
    turn.record(
        lease.model_copy(
            update={"state": LeaseState.noticed, "state_since": since, "notice": shown}
        )
    )


def _evidence(turn: Turn, notice: Notice, call: Call) -> dict[str, object]:
    request = turn.found(call.for_lease)
    return {
        "v": 1,
        "notice": notice.model_dump(mode="json"),
        "evidence": None,
        "call": {
            "for": request.id,
            "team": request.team,
            "flavor": request.flavor,
            "units": request.units,
            "waits_since": request.state_since.isoformat(),
        },
    }


def _take_back(turn: Turn, lease: OpenLease) -> None:
    """Withdraw a call; a notice of another cause stays."""
    why = not_needed()
    body: dict[str, object] = {
        "v": 1,
        "notice": lease.notice.model_dump(mode="json") if lease.notice else None,
        "reason": why.model_dump(mode="json"),
    }
    turn.note(_WITHDRAWN, lease, body)
    taken_back(turn, lease)
    free: dict[str, object] = {"called_in": None, "priority": started(lease.weight)}
    if lease.notice is not None and lease.notice.cause is Cause.preempted:
        free |= {"notice": None, "state": LeaseState.running, "state_since": turn.now}
    turn.record(lease.model_copy(update=free))


def _mark_callers(
    turn: Turn, waits: Iterable[OpenLease], callers: Collection[LeaseId], served: frozenset[LeaseId]
) -> None:
    """Let requests that call in come first until they start.

    One whose victims are gone already, while its device is not yet held, stays first; one that
    can be served by nothing any more is as all others again.
    """
    for request in waits:
        since = request.caller_since
        if request.id in callers and since is None:
            turn.record(request.model_copy(update={"caller_since": turn.now}))
        elif since is not None and request.id not in served:
            turn.record(request.model_copy(update={"caller_since": None}))


def _note_unenforced(turn: Turn, calls: Mapping[LeaseId, Call]) -> None:
    """Record once for each pair what would have been called in."""
    seen = turn.desk.calls_seen
    turn.desk.calls_seen = {(call.victim, call.for_lease) for call in calls.values()}
    for call in calls.values():
        if (call.victim, call.for_lease) in seen:
            continue
        lease = turn.found(call.victim)
        turn.tx.append(
            Event(
                kind=WOULD_CALL,
                at=turn.now,
                lease_id=lease.id,
                actor=turn.actor,
                body=_would(lease, call.reason, call),
            )
        )


def _would(lease: OpenLease, reason: Reason, call: Call) -> dict[str, object]:
    return {
        "v": 1,
        "team": lease.team,
        "for": call.for_lease,
        "words": reason.message,
    }
