"""What the spawner and the reconciler tell of a server: it came up, it ended, it still lives.

Nothing is released on a word alone: a lease closes when its process is proved gone.
"""

from datetime import datetime, timedelta

from ...lease import (
    NEEDS_PROOF,
    Cause,
    LeaseId,
    LeaseState,
    Liveness,
    OpenLease,
    ProcessRef,
    Reason,
    Report,
    ReportKind,
)
from ..basis.words import end_reason
from ..books.desk import Desk, Turn
from ..queueing.tickets import WAITS
from .attempts import SPAWNER, keyed
from .closing import End, close


def report(desk: Desk, attempt_id: str, told: Report, *, now: datetime) -> None:
    """Take a report; one that comes twice, late or for an unknown attempt changes nothing else.

    An attempt that ended, or that the governor does not know, leaves a tombstone: its ask may
    still be on the way.
    """
    with desk.turn(now, SPAWNER) as turn:
        lease = turn.tx.lease_of(keyed(desk, told.key))
        ours = lease is not None and lease.attempt_id == attempt_id
        if told.kind is ReportKind.ended or not ours:
            turn.tx.bury(attempt_id, at=now)
        if lease is None or not ours:
            return
        match told.kind:
            case ReportKind.started:
                _started(turn, lease, told)
            case ReportKind.ended:
                _ended(turn, lease, told)


def _started(turn: Turn, lease: OpenLease, told: Report) -> None:
    lease, process = _placed(turn, lease, told), told.process or lease.process
    at = max(_happened(turn, told), lease.assigned_at or lease.requested_at)
    began = told.hub_started_at or lease.hub_started_at
    if lease.state is LeaseState.starting:
        _running(turn, lease, process, at, began)
    elif process != lease.process:
        changes = {"process": process, "last_seen_at": at, "hub_started_at": began}
        turn.record(lease.model_copy(update=changes))


def _placed(turn: Turn, lease: OpenLease, told: Report) -> OpenLease:
    """Note where its pod really is: it may have started while we, and a newer policy, were away."""
    grant = lease.grant
    if told.namespace is None or grant is None or grant.pod is None:
        return lease
    if grant.pod.namespace == told.namespace:
        return lease
    pod = grant.pod.model_copy(update={"namespace": told.namespace})
    placed = {"grant": grant.model_copy(update={"pod": pod})}
    return turn.record(lease.model_copy(update=placed))


def came_up(
    desk: Desk,
    lease_id: LeaseId,
    process: ProcessRef | None,
    *,
    began: datetime | None = None,
    at: datetime,
    now: datetime,
) -> bool:
    """Record that a starting server runs, of which no report came; return whether that is news.

    The hub that would have sent the report may have died with it. Without this its GPU would be
    held and not charged: a start that never came to run is free.
    """
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        if lease.state is not LeaseState.starting:
            return False
        since = max(at, lease.assigned_at or lease.requested_at)
        _running(turn, lease, process or lease.process, min(since, now), began)
        return True


def _running(
    turn: Turn,
    lease: OpenLease,
    process: ProcessRef | None,
    at: datetime,
    began: datetime | None,
) -> None:
    turn.record(
        lease.model_copy(
            update={
                "state": LeaseState.running,
                "state_since": turn.now,
                "started_at": at,
                "last_seen_at": at,
                "process": process,
                "hub_started_at": began,
            }
        )
    )


def _happened(turn: Turn, told: Report) -> datetime:
    """When it happened, for a report that waited while this governor was away."""
    return turn.now - timedelta(milliseconds=told.age_ms)


def _ended(turn: Turn, lease: OpenLease, told: Report) -> None:
    if lease.state in WAITS:
        # Who heard that it waits reports no end: this answer was lost on the way, and nobody
        # shall wait, and pay, without knowing.
        close(turn, lease, End(Cause.cancelled))
        return
    if lease.state not in NEEDS_PROOF:
        return
    known = lease if told.process is None else lease.model_copy(update={"process": told.process})
    cause = _cause(known, told)
    # `poll()` may have failed where the hub then says "gone"; a process that this machine sees
    # under the very pid and birth is not gone.
    alive = turn.desk.alive(known) is Liveness.alive
    if told.liveness is Liveness.gone and not alive:
        why = _why(known, cause, told)
        at = _end_of(turn, known, told)
        # Who asked for a stop saw it through; any other end was found by a look, after it.
        close(turn, known, End(cause, at=at, reason=why, bounded=not told.asked))
        return
    if known.state is LeaseState.stopping:
        if known != lease:
            turn.record(known)
        return
    turn.record(
        known.model_copy(
            update={
                "state": LeaseState.stopping,
                "state_since": turn.now,
                "stop_asked_at": turn.now,
                "cause": cause,
                "reason": _why(known, cause, told),
            }
        )
    )


def _why(lease: OpenLease, cause: Cause, told: Report) -> Reason:
    """Explain an end: as it was explained before, else as the spawner saw it, else by its cause."""
    known = end_reason(lease, cause, told.exit_code)
    explained = lease.cause is cause and lease.reason is not None
    if told.reason is None or explained or told.asked:
        return known
    return told.reason.model_copy(update={"figures": {**known.figures, **told.reason.figures}})


def _end_of(turn: Turn, lease: OpenLease, told: Report) -> datetime:
    """When a server ended, as far as it is known; never later than it can be shown to have lived.

    An end that nobody asked for is noticed by a look: after a restart of the hub, long after it.
    """
    happened = _happened(turn, told)
    if lease.last_seen_at is None:
        return happened
    # After a stop something may be left that lived, and held the GPU, for longer.
    return max(happened, lease.last_seen_at) if told.asked else lease.last_seen_at


def _cause(lease: OpenLease, told: Report) -> Cause:
    """Say why it ended: a cause that was decided before stands."""
    if lease.state is LeaseState.stopping and lease.cause is not None:
        return lease.cause
    if lease.state is LeaseState.starting:
        if told.refused:
            return Cause.refused_by_hub
        return Cause.cancelled if told.asked else Cause.failed
    # A server that ends by itself with 0 was shut down from inside, by its owner.
    return Cause.user if told.asked or told.exit_code == 0 else Cause.failed


def seen(
    desk: Desk,
    lease_id: LeaseId,
    liveness: Liveness,
    process: ProcessRef | None,
    *,
    now: datetime,
) -> None:
    """Take what the reconciler saw: alive is noted, gone closes, unknown changes nothing."""
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        if lease.state not in NEEDS_PROOF:
            return
        match liveness:
            case Liveness.alive:
                if process is not None and process != lease.process:
                    lease = turn.record(lease.model_copy(update={"process": process}))
                turn.tx.seen([lease.id], at=now)
            case Liveness.gone:
                _gone(turn, lease)
            case Liveness.unknown:
                pass


def look(desk: Desk, lease_id: LeaseId, *, now: datetime) -> None:
    """Look on this machine whether a lease's server lives, and take what is seen."""
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
    if lease.state in NEEDS_PROOF:
        seen(desk, lease_id, desk.alive(lease), None, now=now)


def _gone(turn: Turn, lease: OpenLease) -> None:
    if lease.state is LeaseState.stopping:
        close(turn, lease, End(lease.cause or Cause.lost))
    else:
        close(
            turn, lease, End(Cause.lost, at=lease.last_seen_at or lease.assigned_at, bounded=True)
        )
