"""Reads on in the record of past leases, once for all who learn from it."""

from .desk import Turn


def read_on(turn: Turn) -> None:
    """Let recorded waits and lives know what came since, and a page of what was before."""
    desk, now = turn.desk, turn.now
    policy = desk.book.known
    if policy is None:
        # How long a lease had declared is told by its profile.
        return
    piece = desk.past.look(
        turn.tx, lambda at: desk.waits.wants(at, now) or desk.foreseen.learns_more
    )
    desk.waits.take(piece, now)
    desk.foreseen.learn(piece, policy)
