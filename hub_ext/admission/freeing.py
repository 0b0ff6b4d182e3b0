"""Whose end would let somebody start who waits: asked of the engine itself, one lease at a time."""

from collections.abc import Collection, Sequence

from ..lease import LeaseId
from .decision import Admitted
from .queue import line
from .snapshot import Snapshot

MOST_TRIED = 20
"""Leases that are tried at once; each costs a whole answer to the queue."""


def freeing(
    snapshot: Snapshot, gone: Collection[LeaseId], candidates: Sequence[LeaseId]
) -> frozenset[LeaseId]:
    """Choose those whose end lets a waiting request start that cannot start without it.

    Parameters
    ----------
    gone
        Leases that are ending already: what they give back counts as free.
    candidates
        In the order in which they are tried; no more are chosen than are needed.
    """
    left = _without(snapshot, frozenset(gone))
    can, chosen = _startable(left), set[LeaseId]()
    waiting = sum(lease.state == "queued" for lease in snapshot.leases)
    for one in candidates[:MOST_TRIED]:
        if len(can) >= waiting:
            break
        fewer = _without(left, frozenset({one}))
        more = _startable(fewer)
        if more - can:
            left, can = fewer, more
            chosen.add(one)
    return frozenset(chosen)


def _without(snapshot: Snapshot, gone: frozenset[LeaseId]) -> Snapshot:
    leases = tuple(lease for lease in snapshot.leases if lease.id not in gone)
    return snapshot.model_copy(update={"leases": leases})


def _startable(snapshot: Snapshot) -> frozenset[LeaseId]:
    return frozenset(one.lease.id for one in line(snapshot) if isinstance(one.decision, Admitted))
