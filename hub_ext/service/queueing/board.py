"""The queue as people see it: own requests, a team's, or all, each with place and reason now.

It reads and decides nothing; the answers are those that the queue's next turn would give.
"""

from collections.abc import Callable
from datetime import datetime

from ...admission.decide import Queued, offers
from ...admission.queue import Waiting, line
from ...i18n import _
from ...lease import (
    Cause,
    Choice,
    Forecast,
    LeaseId,
    LeaseState,
    OpenLease,
    PoolName,
    Reason,
    Standing,
    Ticket,
    When,
)
from ...ledger.fold import lease_in
from ...policy.catalogue import Person
from ..books.desk import Desk, Turn
from .tickets import WAITS

_FRESH_S = 5
"""For so long one look at the queue serves all who ask, while nothing is written."""

_MOST_LOOKED_AT = 100
"""Newest ends that are looked through for those of one person."""

CLOSED = "lease.closed"

_STARTS = frozenset({Standing.guaranteed, Standing.borrowed, Standing.unmetered})


def tickets(desk: Desk, shown: Callable[[OpenLease], bool], *, now: datetime) -> tuple[Ticket, ...]:
    """List the waiting requests that are to be shown, in the order of their pools and turn."""
    if desk.book.known is None:
        return ()
    with desk.turn(now) as turn:
        mine = [
            lease
            for lease in turn.tx.leases()
            if lease.state in WAITS and lease.pool is not None and shown(lease)
        ]
        if not mine:
            return ()
        answers = {one.lease.id: one for one in places(turn)}
    made = [
        _ticket(lease, answers.get(lease.id), desk.foreseen.of(lease.id, now)) for lease in mine
    ]
    return tuple(sorted(made, key=lambda one: (one.pool, one.position or 0, one.lease_id)))


def places(turn: Turn) -> tuple[Waiting, ...]:
    """Read place and answer of every waiting request, once for all who look at the same queue."""
    desk = turn.desk
    mark = (
        turn.tx.head(),
        desk.book.state.generation,
        int(turn.now.timestamp()) // _FRESH_S,
    )
    if desk.queue_seen is None or desk.queue_seen[0] != mark:
        desk.queue_seen = (mark, line(turn.snapshot()))
    return desk.queue_seen[1]


def can_start(desk: Desk, lease_id: LeaseId, *, now: datetime) -> tuple[Choice, ...]:
    """Choices that the owner of a waiting request could start at once instead of it."""
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        snapshot = turn.snapshot()
    others = tuple(one for one in snapshot.leases if one.id != lease_id)
    person = Person(user=lease.key.user, groups=lease.groups)
    sheet = offers(snapshot.model_copy(update={"leases": others}), person)
    return tuple(
        Choice(profile=offer.profile, team=offer.team)
        for offer in sheet.offers
        if offer.standing in _STARTS
    )


def left(desk: Desk, user: str, since: datetime) -> tuple[OpenLease, ...]:
    """List requests of a person that left the queue without a start, newest first."""
    with desk.ledger.transaction() as tx:
        newest = tx.events(kinds=[CLOSED], limit=_MOST_LOOKED_AT, newest=True)
    found = [lease_in(event) for _seq, event in newest if event.at >= since]
    return tuple(
        lease
        for lease in found
        if lease is not None
        and lease.key.user == user
        and lease.when is not None
        and lease.assigned_at is None
        and lease.cause is not Cause.replaced
    )


def _ticket(lease: OpenLease, waiting: Waiting | None, starts: Forecast | None) -> Ticket:
    decision = waiting.decision if waiting is not None else None
    queued = decision if isinstance(decision, Queued) else None
    reason = lease.reason or Reason(code="queued", message="")
    if queued is not None:
        reason = Reason(code=queued.reason.code, message=queued.why, figures=queued.reason.figures)
    elif lease.state is LeaseState.queued:
        reason = Reason(code="turn", message=_("Its turn has come: a device is being held."))
    return Ticket(
        lease_id=lease.id,
        server=lease.key,
        profile=lease.profile,
        team=lease.team,
        project=lease.project,
        pool=PoolName(str(lease.pool)),
        state=lease.state,
        when=lease.when or When.hold,
        requested_at=lease.requested_at,
        task_type=lease.task_type,
        only_guaranteed=lease.only_guaranteed,
        position=waiting.place if waiting is not None else None,
        reason=reason,
        soonest_at=queued.soonest_at if queued is not None else None,
        forecast=starts if lease.state is LeaseState.queued else None,
        held_until=lease.held_until,
    )
