"""What is charged for GPUs that are kept for a reservation while no server uses them.

Each such stretch of time has lines of its own, beside those of its leases and never in them.
"""

from datetime import datetime, timedelta

from ...lease import AttemptId, Cause, LeaseId, LeaseState, OpenLease, Posting, Standing
from ...lease.reserving import UNUSED, Reservation
from ...metering import charge
from ...policy.model import Policy
from ...policy.prices import PriceSpan, unused_spans
from ..books.desk import Desk, Turn


def charged(
    turn: Turn,
    one: Reservation,
    until: datetime,
    cause: Cause | None = None,
    *,
    policy: Policy | None = None,
) -> Reservation:
    """Post the unused time of a reservation up to an instant; none is open after that.

    `policy` says what it costs; None: the one in force.
    """
    current = one.current
    if current is None or current.kept_since is None:
        return one
    lines = unused_lines(turn.desk, one, until, cause, policy=policy)
    turn.tx.post(lines, at=turn.now, actor=turn.actor)
    settled = current.model_copy(update={"kept_since": None})
    return one.model_copy(update={"current": settled, "kept": one.kept + 1})


def unused_lines(
    desk: Desk,
    one: Reservation,
    until: datetime,
    cause: Cause | None = None,
    *,
    policy: Policy | None = None,
) -> tuple[Posting, ...]:
    """Charge the stretch that goes on now, if any, as if it ended at `until`."""
    if one.current is None or one.current.kept_since is None:
        return ()
    since = one.current.kept_since
    end = max(since, min(until, one.current.end))
    policy = policy or desk.book.known
    # A moment more than is charged, so that a stretch of no length has a price already.
    spans = unused_price_spans(policy, one, since, end + timedelta(seconds=1))
    kept = OpenLease(
        id=LeaseId(f"{one.id}-{one.kept + 1}"),
        key=one.key,
        attempt_id=AttemptId(one.id),
        choice=one.choice,
        team=one.team,
        project=one.project,
        profile=one.profile,
        pool=one.pool,
        flavor=UNUSED,
        units=one.units,
        standing=Standing.guaranteed,
        state=LeaseState.closed,
        state_since=since,
        requested_at=since,
        assigned_at=since,
        started_at=since,
        closed_at=end,
        cause=cause,
        price_micro_per_hour=spans[0].price_micro_per_hour if spans else None,
        currency=policy.currency if policy is not None else "",
        policy_generation=desk.book.state.generation,
    )
    return charge(kept, spans, end)


def unused_price_spans(
    policy: Policy | None, one: Reservation, start: datetime, end: datetime
) -> tuple[PriceSpan, ...]:
    """What unused time of a reservation costs over a stretch; nothing where its pool is gone."""
    if policy is None or one.pool not in policy.pools:
        return ()
    return unused_spans(policy, one.pool, one.flavor, start, end, one.unused_percent)
