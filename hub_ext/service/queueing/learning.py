"""Reads on in the record of past leases, once for all who learn from it."""

from ...lease import OpenLease
from ..books.desk import Turn
from ..leasing.views import cost_of


def read_on(turn: Turn) -> None:
    """Let recorded waits and lives know what came since, and a page of what was before."""
    desk, now = turn.desk, turn.now
    policy = desk.book.known
    if policy is None:
        # How long a lease had declared is told by its profile.
        return
    piece = desk.past.look(
        turn.tx,
        lambda at: (
            desk.waits.wants(at, now)
            or desk.foreseen.learns_more
            or desk.alike.wants(at, now)
            or desk.sizes.wants(at, now)
        ),
    )
    desk.waits.take(piece, now)
    desk.foreseen.learn(piece, policy)
    for seen, newest in ((piece.older, False), (piece.newer, True)):
        priced = [(one, _cost(turn, one)) for one, _at in seen]
        desk.alike.take(priced, newest=newest)
        desk.sizes.take((one for one, _at in seen), newest=newest)


def _cost(turn: Turn, lease: OpenLease) -> int | None:
    """What a lease has cost that ended; None where it goes on or nothing priced it."""
    if lease.closed_at is None or lease.pool is None:
        return None
    return cost_of(turn.desk, lease, lease.closed_at).so_far_micro
