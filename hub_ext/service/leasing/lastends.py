"""How somebody's servers ended lately, for the form on which they start the next one.

Whoever ended a server knows why; told is what came from elsewhere: from its machine, its memory,
a rule, an administrator.
"""

from datetime import timedelta

from ...lease import Cause, EndedServer, OpenLease, UserName
from ..basis.words import cause_words
from ..books.desk import Turn

LATELY = timedelta(hours=24)
"""Who comes back after a night still reads it; after that it is history."""

MOST = 3
"""Servers that are told of: more is a page of its own."""

_OWN = frozenset({Cause.user, Cause.cancelled, Cause.replaced, Cause.denied, Cause.not_queued})
"""Ends that the person asked for, or was told of as the answer."""


def last_ends(turn: Turn, user: UserName) -> tuple[EndedServer, ...]:
    """Tell of the last end of each server that does not run again, the newest first."""
    there = {lease.key for lease in turn.tx.leases() if lease.key.user == user}
    found = turn.tx.last_ends(turn.desk.settings.hub, user, MOST)
    return tuple(
        EndedServer(server=lease.key.server, at=lease.closed_at, words=_words(lease))
        for lease in found
        if lease.key not in there
        and lease.cause not in _OWN
        and lease.closed_at is not None
        and turn.now - lease.closed_at <= LATELY
    )


def _words(lease: OpenLease) -> str:
    return lease.reason.message if lease.reason is not None else cause_words(lease.cause)
