"""The end of a lease: one transaction closes it, posts its charges and settles what was intended.

Whoever calls it holds the proof that the server is gone, or the lease never had one.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...admission.order import promotions
from ...lease import NEEDS_PROOF, Cause, LeaseState, OpenLease, Posting, Reason, Standing
from ...metering import charge
from ...policy.model import Policy
from ...policy.prices import PriceSpan
from ..basis.words import end_reason
from ..books.desk import Desk, Turn
from ..books.restcharges import lease_spans, own_part, rest_part
from ..devices import leftovers
from ..kueue.intents import ended
from .following import follow

_DELIBERATE = frozenset({Cause.user, Cause.admin})
"""Ends that somebody wanted: a change of profile that waits for the same server ends as well."""


@dataclass(frozen=True)
class End:
    """How a lease ended. `at` is when its server was last known to live; now where not given.

    `bounded` says that nobody saw the end, which was between `at` and now.
    """

    cause: Cause
    at: datetime | None = None
    reason: Reason | None = None
    bounded: bool = False


def close(turn: Turn, lease: OpenLease, end: End) -> OpenLease:
    """Close a lease whose server is gone, and let its team's oldest borrowed lease move up."""
    ended_at = _within(lease, end.at or turn.now, turn.now)
    closed = lease.model_copy(
        update={
            "state": LeaseState.closed,
            "state_since": turn.now,
            "closed_at": ended_at,
            "cause": end.cause,
            "reason": end.reason or end_reason(lease, end.cause),
            "notice": None,
            "noticed_at": _announced(lease),
        }
    )
    turn.record(closed)
    if lease.state in NEEDS_PROOF:
        bounded = end.bounded and ended_at < turn.now
        turn.tx.post(charges(turn.desk, closed, ended_at, bounded=bounded), at=turn.now)
        turn.tx.bury(lease.attempt_id, at=turn.now)
        leftovers.note(turn.desk, lease, now=turn.now)
    for intent in turn.tx.intents(lease.id):
        turn.tx.settle(intent.id, end.cause.value, at=turn.now)
    ended(turn, closed, lease.state)
    turn.desk.verdicts.pop(lease.id, None)
    turn.desk.on_record.pop(lease.id, None)
    turn.desk.judged_by.pop(lease.id, None)
    promote(turn)
    fresh = follow(turn, closed)
    if fresh is not None and closed.cause in _DELIBERATE:
        close(turn, fresh, End(Cause.cancelled))
    return closed


def _announced(lease: OpenLease) -> datetime | None:
    """When the stop that ends it was announced; advice announces none."""
    notice = lease.notice
    return None if notice is None or notice.is_advice else notice.given_at


def charges(
    desk: Desk,
    lease: OpenLease,
    end: datetime,
    policy: Policy | None = None,
    *,
    bounded: bool = False,
) -> tuple[Posting, ...]:
    """Charge a lease until `end`: to its team, and after the stop limit to the site.

    What is kept empty beside a lease that is alone has lines of its own. `policy` says what it
    costs; None: the one in force. `bounded`: nobody saw that end.
    """
    by = policy or desk.book.known
    parts = [part for part in (own_part(lease), rest_part(lease)) if part is not None]
    return tuple(line for part in parts for line in _charges(desk, part, end, by, bounded=bounded))


def _charges(
    desk: Desk, lease: OpenLease, end: datetime, policy: Policy | None, *, bounded: bool
) -> tuple[Posting, ...]:
    start = lease.assigned_at or end
    closed = desk.closed_until
    if closed is not None and start < closed:
        # Found late, as after a backup was restored: a closed month takes no charge any more.
        lease = lease.model_copy(
            update={"charged_until": max(lease.charged_until or closed, min(closed, end))}
        )
    # A moment more than is charged, so that a lease of no length has a price already.
    known = lease_spans(policy, lease, start, end + timedelta(seconds=1))
    limit = None if policy is None else policy.notice.stop_limit
    return charge(lease, known, end, stop_limit=limit, bounded=bounded)


def stop_limit(desk: Desk) -> timedelta | None:
    """How long after a stop was asked its team still pays; None while no policy says."""
    policy = desk.book.known
    return None if policy is None else policy.notice.stop_limit


def spans(desk: Desk, lease: OpenLease, start: datetime, end: datetime) -> tuple[PriceSpan, ...]:
    """Prices of a lease over a stretch of time; see `restcharges.lease_spans`."""
    return lease_spans(desk.book.known, lease, start, end)


def _within(lease: OpenLease, end: datetime, now: datetime) -> datetime:
    """Keep an end between the start of the charge and now, whatever a clock said."""
    earliest = lease.charged_until or lease.assigned_at or lease.requested_at
    return max(earliest, min(end, now))


def promote(turn: Turn) -> None:
    """Let borrowed leases that now fit into their team's guarantee become guaranteed."""
    if turn.desk.book.known is None:
        return
    policy = turn.policy
    leases = {lease.id: lease for lease in turn.tx.leases()}
    kueue = turn.desk.kueue
    # Batch work on Kueue holds parts of the guarantee too.
    there = turn.snapshot().leases if kueue is not None and kueue.foreign else leases.values()
    for lease_id in promotions(policy, there):
        if lease_id not in leases:
            continue
        turn.record(leases[lease_id].model_copy(update={"standing": Standing.guaranteed}))
