"""What follows when a lease has ended for a request that replaces it: the new start of its server.

Within the transaction that frees what the old lease held, so that nobody takes it in between.
"""

from datetime import datetime

from ...admission.decide import Admitted, Request, decide
from ...errors import RefusedError
from ...lease import Cause, LeaseId, LeaseState, OpenLease, ServerKey
from ...policy.catalogue import Person, Resolved, resolve
from ..books.desk import Turn
from ..queueing.tickets import START, hold, pinned, start_body


def follow(turn: Turn, closed: OpenLease) -> OpenLease | None:
    """Let the request that replaces a lease go on, now that it has ended; None where there is none.

    Where its devices were to be enough, they are held in the very transaction that frees them.
    """
    fresh = next((one for one in turn.tx.leases() if one.replaces == closed.id), None)
    if fresh is None:
        return None
    fresh = turn.record(fresh.model_copy(update={"replaces": None}))
    if closed.cause is not Cause.replaced:
        # It ended otherwise, and the request waits like any other.
        return fresh
    if fresh.state is LeaseState.queued:
        decision = answer_now(turn, fresh, fresh.key)
        if decision is None:
            return fresh
        fresh = hold(turn, fresh, decision)
    until = turn.now + turn.desk.book.policy.notice.hold
    fresh = turn.record(fresh.model_copy(update={"held_until": until, "state_since": turn.now}))
    turn.tx.intend(START, fresh.id, start_body(fresh), at=turn.now)
    return fresh


def answer_now(turn: Turn, fresh: OpenLease, key: ServerKey) -> Admitted | None:
    """Decide once more on what waits, by the rules of now; leases of `key` are left out.

    None where it cannot start, or the policy no longer has it: then the queue closes it.
    """
    policy, person = turn.desk.book.policy, Person(user=fresh.key.user, groups=fresh.groups)
    try:
        resolved = resolve(policy, person, pinned(fresh, fresh.choice), turn.now)
    except RefusedError:
        return None
    request = request_of(turn, resolved, key, fresh.requested_at, fresh.id)
    request = request.model_copy(update={"replaces": fresh.replaces})
    answer = decide(turn.snapshot(), request)
    return answer if isinstance(answer, Admitted) else None


def request_of(
    turn: Turn, resolved: Resolved, key: ServerKey, since: datetime, lease_id: LeaseId | None
) -> Request:
    """Make the request of a change; leases of `key` do not count against it."""
    return Request(
        key=key,
        resolved=resolved,
        requested_at=since,
        priority=turn.arriving(resolved, since),
        lease_id=lease_id,
    )
