"""What becomes of reservations as time passes: opened, claimed, not come to, given up, over.

Run again and again; each step is recorded in one transaction with what it changes, so that it goes
on after a restart. How servers are counted and charged is not decided here.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from ...errors import RefusedError
from ...i18n import _
from ...lease import Cause, LeaseState, OpenLease, Reason, local_text
from ...lease.reserving import Opening, Reservation
from ...ledger.reservations import CHANGED, NO_SHOW, OPENED, RELEASED
from ...policy.catalogue import Person, resolve
from ...reservation import Occurrence, occurrences
from ...units import duration_text
from ..books.desk import Desk, Turn
from ..leasing.closing import End, close
from ..money.paying import pay_for
from ..money.reservedcharges import charged
from ..queueing.tickets import settle_starts
from .draining import drained
from .keeping import Kept, hold_again, keep
from .making import called_off

_FAR = timedelta(days=3650)

_A_STEP = timedelta(minutes=1)
"""Clocks are set right by less than this all the time."""

_WAITS = frozenset({LeaseState.queued, LeaseState.held})

_GIVEN_UP = frozenset({Cause.culled, Cause.cancelled, Cause.never_used, Cause.expired, Cause.admin})
"""Ends of a server after which nothing is kept for the rest of its time."""


def tend(desk: Desk, *, now: datetime) -> int:
    """Look at every reservation once; return how many changed."""
    policy = desk.book.known
    if policy is None:
        return 0
    with desk.turn(now) as turn:
        reservations = turn.tx.reservations()
        changed = sum(_look(turn, one) for one in reservations)
        desk.draining = drained(turn) if reservations else {}
    return changed


def _look(turn: Turn, one: Reservation) -> bool:
    after = _step(turn, one)
    for _round in range(3):
        if after is None or after.over:
            break
        further = _step(turn, after)
        if further is None:
            break
        after = further
    return after is not None


def _step(turn: Turn, one: Reservation) -> Reservation | None:
    """Make one step with a reservation, if there is one to make; give it as it is then."""
    current = one.current
    if current is None:
        time = next(occurrences(one, turn.now - _FAR, turn.now + timedelta(seconds=1)), None)
        return None if time is None or time.start > turn.now else _begin(turn, one, time)
    lease = turn.tx.lease(current.lease_id) if current.lease_id else None
    if turn.now < current.start - _A_STEP and (lease is None or lease.state in _WAITS):
        return _too_early(turn, one, lease)
    if turn.now >= current.end:
        return _finish(turn, one, lease, RELEASED, _time_over(one))
    return _go_on(turn, one, current, lease)


def _go_on(
    turn: Turn, one: Reservation, current: Opening, lease: OpenLease | None
) -> Reservation | None:
    if lease is None:
        return _without_lease(turn, one, current)
    if lease.state in _WAITS:
        return _waits(turn, one, current, lease)
    if lease.open:
        return _claimed(turn, one, current, lease)
    return _ended(turn, one, current, lease)


def _begin(turn: Turn, one: Reservation, time: Occurrence) -> Reservation:
    if time.end <= turn.now:
        opening = Opening(start=time.start, end=time.end)
        missed = one.model_copy(update={"current": opening})
        return _finish(turn, missed, None, RELEASED, _missed())
    person = Person(user=one.key.user, groups=one.groups)
    try:
        resolve(turn.desk.book.policy, person, one.choice, turn.now)
    except RefusedError as refusal:
        return called_off(turn, one, Reason(code=refusal.code, message=refusal.message))
    opening = Opening(start=time.start, end=time.end)
    return _record(turn, one, opening, OPENED)


def _without_lease(turn: Turn, one: Reservation, current: Opening) -> Reservation | None:
    """Hold a lease where its server is free, keep devices where it is not, or note what lacks."""
    if _too_late(one, current, turn.now):
        return _no_show(turn, one, None)
    present = turn.tx.lease_of(one.key)
    if present is not None and _is_it(present, one):
        return _adopt(turn, one, current, present)
    return _kept(turn, one, current, keep(turn, one, current, present))


def _kept(turn: Turn, one: Reservation, current: Opening, kept: Kept) -> Reservation | None:
    """Note what could be kept, and since when: what nobody could have is not charged."""
    since = current.kept_since or turn.now
    if kept.lease is not None:
        held = {"lease_id": kept.lease.id, "devices": (), "reason": None, "kept_since": since}
        return _changed(turn, one, current, held)
    found = {"devices": kept.devices, "reason": kept.reason}
    if kept.devices:
        return _changed(turn, one, current, {**found, "kept_since": since})
    if current.kept_since is not None:
        one = charged(turn, one, turn.now)
        return _record(turn, one, (one.current or current).model_copy(update=found), CHANGED)
    before, after = (reason and reason.code for reason in (current.reason, kept.reason))
    if before == after:
        # Its figures change all the time; it is noted once.
        return None
    return _changed(turn, one, current, found)


def _waits(turn: Turn, one: Reservation, current: Opening, lease: OpenLease) -> Reservation | None:
    if _too_late(one, current, turn.now):
        return _no_show(turn, one, lease)
    if lease.state is LeaseState.queued and not hold_again(turn, one, current, lease):
        if current.kept_since is None:
            return None
        # It gave its devices up: what nobody keeps is not charged.
        one = charged(turn, one, turn.now)
        return _record(turn, one, one.current or current, CHANGED)
    return _changed(turn, one, current, {"kept_since": current.kept_since or turn.now})


def _claimed(
    turn: Turn, one: Reservation, current: Opening, lease: OpenLease
) -> Reservation | None:
    if current.used and current.kept_since is None:
        return None
    one = charged(turn, one, lease.assigned_at or turn.now)
    return _changed(turn, one, one.current or current, {"used": True, "reason": None})


def _ended(turn: Turn, one: Reservation, current: Opening, lease: OpenLease) -> Reservation:
    """Go on after the end of its lease: given up, or kept once more for its owner."""
    if current.kept_since is not None and lease.assigned_at is not None:
        # It came and went between two looks.
        one = charged(turn, one, lease.assigned_at)
        current = one.current or current
    if lease.cause in _GIVEN_UP:
        return _finish(turn, one, lease, RELEASED, _given_up(lease))
    return _record(turn, one, current.model_copy(update={"lease_id": None}), CHANGED)


def _is_it(lease: OpenLease, one: Reservation) -> bool:
    """Whether the owner's server runs as reserved already, so that nothing needs to change over."""
    return (
        lease.open
        and lease.state not in _WAITS | {LeaseState.stopping}
        and (lease.profile, lease.team, lease.flavor) == (one.profile, one.team, one.flavor)
        and lease.project == one.project
        and lease.alone == one.alone
    )


def _adopt(turn: Turn, one: Reservation, current: Opening, lease: OpenLease) -> Reservation:
    """Let a server that runs as reserved run on what is reserved, until its end.

    It was charged itself since it came; and it does not end sooner than it may have without. Where
    no budget pays for more time, its end stays: its owner extends it when there is money.
    """
    one = charged(turn, one, lease.assigned_at or turn.now)
    found = {"lease_id": lease.id, "devices": (), "used": True, "reason": None}
    # Recorded first: what was kept for it unused is free for its lease.
    one = _record(turn, one, (one.current or current).model_copy(update=found), CHANGED)
    ends_at, why = _longer(turn, lease, current.end)
    turn.record(
        lease.model_copy(
            update={
                "reservation": one.id,
                "reserved_until": current.end,
                "ends_at": ends_at,
                "longest_end_at": max(current.end, lease.longest_end_at or current.end),
            }
        )
    )
    if why is None or one.current is None:
        return one
    return _record(turn, one, one.current.model_copy(update={"reason": why}), CHANGED)


def _longer(turn: Turn, lease: OpenLease, end: datetime) -> tuple[datetime, Reason | None]:
    """Give a lease the time of its reservation; where that is not paid for, its own end and why."""
    if lease.ends_at is not None and end <= lease.ends_at:
        return lease.ends_at, None
    try:
        pay_for(turn, lease, end)
    except RefusedError as refusal:
        why = Reason(code=refusal.code, message=refusal.message, figures=refusal.figures)
        return lease.ends_at or turn.now, why
    return end, None


def _too_early(turn: Turn, one: Reservation, lease: OpenLease | None) -> Reservation:
    """Take back a time that a clock began which was ahead; it begins again when it is due."""
    one = charged(turn, one, turn.now)
    if lease is not None and lease.open:
        settle_starts(turn, lease)
        why = Reason(
            code="reserved-later",
            message=_("The clock was set back: the reserved time begins later."),
        )
        close(turn, lease, End(Cause.cancelled, reason=why))
    after = one.model_copy(update={"current": None})
    turn.tx.record_reservation(after, CHANGED, actor=turn.actor, at=turn.now)
    turn.desk.changed.add(one.key)
    return after


def _too_late(one: Reservation, current: Opening, now: datetime) -> bool:
    since, limit = current.kept_since, timedelta(seconds=one.no_show_s)
    # A clock that was set back far must not keep devices for much longer than was said.
    return since is not None and not since - limit <= now < since + limit


def _no_show(turn: Turn, one: Reservation, lease: OpenLease | None) -> Reservation:
    limit = duration_text(timedelta(seconds=one.no_show_s))
    why = Reason(
        code="no-show",
        message=_(
            "Reserved GPUs were kept for {limit} and no server used them, so others have them now."
        ).format(limit=limit),
        figures={"no_show_s": one.no_show_s},
    )
    return _finish(turn, one, lease, NO_SHOW, why)


def _finish(
    turn: Turn, one: Reservation, lease: OpenLease | None, kind: str, why: Reason
) -> Reservation:
    """End the present time; the reservation is over unless another time is to come."""
    cause = Cause.never_used if kind == NO_SHOW else None
    one = charged(turn, one, turn.now, cause)
    if lease is not None and lease.state in _WAITS:
        settle_starts(turn, lease)
        close(turn, lease, End(Cause.never_used, reason=why))
    done = one.current.start if one.current is not None else turn.now
    after = one.model_copy(update={"current": None, "done_until": done, "ended": why})
    further = next(occurrences(after, turn.now - _FAR, turn.now + _FAR), None)
    after = after.model_copy(update={"over": further is None})
    turn.tx.record_reservation(after, kind, actor=turn.actor, at=turn.now)
    turn.desk.changed.add(one.key)
    return after


def _changed(
    turn: Turn, one: Reservation, current: Opening, update: Mapping[str, object]
) -> Reservation | None:
    now = current.model_copy(update=update)
    if now == current and one.current == current:
        return None
    return _record(turn, one, now, CHANGED)


def _record(turn: Turn, one: Reservation, current: Opening, kind: str) -> Reservation:
    after = one.model_copy(update={"current": current})
    turn.tx.record_reservation(after, kind, actor=turn.actor, at=turn.now)
    turn.desk.changed.add(one.key)
    return after


def _missed() -> Reason:
    return Reason(
        code="missed",
        message=_(
            "GPU Commons was away during the whole reserved time, so nothing was kept or charged."
        ),
    )


def _time_over(one: Reservation) -> Reason:
    end = one.current.end if one.current is not None else None
    at = local_text(end, one.zone) if end is not None else ""
    return Reason(
        code="reserved-time-over", message=_("The reserved time ended at {at}.").format(at=at)
    )


def _given_up(lease: OpenLease) -> Reason:
    words = lease.reason.message if lease.reason is not None else ""
    return Reason(
        code="released-early",
        message=_("The rest of the reserved time was given up. {why}").format(why=words),
    )
