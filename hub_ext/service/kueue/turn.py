"""Who may start where Kueue admits: the governor's own answer and Kueue's word together.

A governor that admits by itself is asked nothing here: its answers pass through as they are.
"""

from dataclasses import dataclass, replace

from ...admission.decide import Admitted, Decision, Queued, Request, decide, in_turn, reconsider
from ...admission.queue import Waiting, line
from ...admission.snapshot import NOBODY, Snapshot, Views, scene, waiting_demand
from ...errors import RefusedError
from ...lease import Ask, Cause, Grant, LeaseState, OpenLease, PoolName, Reason
from ..basis.refusals import RETRY_S, would_queue
from ..books.desk import Desk, Turn
from ..books.kueuebook import away_reason
from ..leasing.closing import End, close
from ..leasing.granting import asked_lease, terms
from ..money.valuing import opened
from ..queueing.tickets import join, still_waiting
from .intents import book_of, submit
from .plan import submitted
from .unfit import unfit
from .unfit import why as why_of

TOO_MANY = 429
"""Status of "not now": the hub does not count it towards its own exit."""


@dataclass(frozen=True)
class Awaited:
    """The answer is Kueue's, and has not come yet; asked again in a moment, it may be there."""

    lease: OpenLease


def gates(desk: Desk) -> bool:
    """Whether Kueue has a say in who starts: where it admits, and quota is enforced."""
    return desk.kueue is not None and desk.book.policy.modes.quota == "enforce"


def turns(turn: Turn, snapshot: Snapshot, views: Views) -> tuple[Waiting, ...]:
    """Answer all waiting requests, as `line` does; only those with quota may start."""
    found = line(snapshot, views)
    if not gates(turn.desk):
        return found
    book = book_of(turn.desk)
    # What Kueue admitted a moment before an owner came does not start either.
    asks = submitted(snapshot, found)
    ready = [
        one
        for one in found
        if one.lease.id in asks
        and book.has_quota(one.lease.id)
        and unfit(turn, one.lease) is None
        and not book.is_answering(one.lease, turn.now)
    ]
    theirs = _of_admitted(snapshot, ready)
    return tuple(
        replace(one, decision=theirs[one.lease.id])
        if one.lease.id in theirs
        else replace(one, decision=_without_quota(turn, one))
        for one in found
    )


def _of_admitted(snapshot: Snapshot, ready: list[Waiting]) -> dict[str, Decision]:
    """Decide those with quota among themselves: who waits before them on Kueue still does."""
    found: dict[str, Decision] = {}
    for pool in sorted({PoolName(str(one.lease.pool)) for one in ready}):
        view = scene(snapshot, pool, without=NOBODY, lease_id=None).alone()
        here = [waiting_demand(one.lease, pool) for one in ready if one.lease.pool == pool]
        found |= {demand.tie: decision for demand, decision, _after in in_turn(view, here)}
    return found


def _without_quota(turn: Turn, one: Waiting) -> Decision:
    if not isinstance(one.decision, Admitted):
        return one.decision
    why = why_of(turn, one.lease)
    return Queued(reason=why, why=why.message, retry_after_s=RETRY_S)


def answered(turn: Turn, request: Request, lease: OpenLease) -> Decision:
    """Decide on a waiting request of which an attempt claims the device."""
    snapshot = turn.snapshot()
    if lease.state is LeaseState.held:
        return reconsider(snapshot, request, lease.takes)
    ready = gates(turn.desk) and not lacks_quota(turn, lease)
    if ready and lease.id in submitted(snapshot, line(snapshot)):
        return reconsider(snapshot, request, ())
    return decide(snapshot, request)


def lacks_quota(turn: Turn, lease: OpenLease) -> bool:
    """Whether only Kueue's word is missing to a lease that could start."""
    if lease.pool is None or not gates(turn.desk):
        return False
    return not book_of(turn.desk).has_quota(lease.id) or unfit(turn, lease) is not None


def awaited(turn: Turn, lease: OpenLease, *, last: bool) -> Awaited | RefusedError:
    """Answer an ask whose lease has no quota yet: in a moment, or, at last, that it waits."""
    book = book_of(turn.desk)
    if not last:
        book.answering[lease.id] = turn.now
        return Awaited(lease)
    book.answering.pop(lease.id, None)
    if lease.when is not None or lease.reservation is not None:
        refusal = still_waiting(turn, lease)
        why = why_of(turn, lease)
        return RefusedError(
            refusal.code,
            f"{refusal.message} {why.message}",
            figures={**refusal.figures, "why": why.code},
            retry_after_s=refusal.retry_after_s,
        )
    return not_queued(turn, lease, why_of(turn, lease))


def unasked(turn: Turn, lease: OpenLease, asked: Ask) -> bool:
    """Whether a request would wait now, though nobody wanted that."""
    queued = lease.state is LeaseState.queued
    return queued and gates(turn.desk) and lease.when is None and asked.when is None


def not_queued(turn: Turn, lease: OpenLease, reason: Reason) -> RefusedError:
    """Close a request of somebody who does not wait, and say why."""
    close(turn, lease, End(Cause.not_queued, reason=reason))
    return refusal(reason)


def refusal(reason: Reason) -> RefusedError:
    """Refuse a start that would have to wait."""
    if reason.code != away_reason().code:
        return would_queue(reason, RETRY_S)
    return RefusedError(reason.code, reason.message, status=TOO_MANY, retry_after_s=RETRY_S)


def begin(
    turn: Turn, asked: Ask, request: Request, kept: OpenLease | None, *, last: bool
) -> Awaited | RefusedError:
    """Record a request that could start, and ask Kueue for its quota; refuse it while it cannot."""
    book = book_of(turn.desk)
    lease = asked_lease(turn, asked, request.resolved)
    # What cannot be a pod is refused before Kueue is asked.
    terms(turn, lease, request.resolved)
    lease = opened(turn, lease, asked.purpose)
    reason, closed = why_of(turn, lease), unfit(turn, lease) is not None
    if (closed or book.blocked(turn.now)) and asked.when is None:
        return not_queued(turn, lease, reason)
    lease = join(turn, lease, asked, reason, request.requested_at, kept=kept)
    if not closed:
        submit(turn, lease)
    return awaited(turn, lease, last=last or closed or book.blocked(turn.now))


Answer = Grant | RefusedError | Awaited
