"""Intents about a lease's Workload: to make it, to delete it, to let it go on.

Each is written in the transaction that decides it; a worker makes the effect afterwards.
"""

from ...lease import LeaseState, OpenLease
from ...ledger.duties import Intent
from ..books.desk import Desk, Turn
from ..books.kueuebook import KueueBook, metered

MAKE = "workload"
"""Kind of the intent to make a lease's Workload; settled when it is seen."""

DROP = "workload-gone"
"""Kind of the intent to delete it, once the server is proved gone or was never started."""

KEEP = "workload-keep"
"""Kind of the intent to let a lease go on whose eviction is not needed any more."""


def book_of(desk: Desk) -> KueueBook:
    """Give the book of a governor that leaves admission to Kueue.

    Raises
    ------
    LookupError
        When it admits by itself.
    """
    if desk.kueue is None:
        msg = "this governor admits by itself"
        raise LookupError(msg)
    return desk.kueue


def submit(turn: Turn, lease: OpenLease) -> Intent:
    """Intend a lease's Workload."""
    number = turn.tx.intend(MAKE, lease.id, {"v": 1, "units": lease.units}, at=turn.now)
    return next(one for one in turn.tx.intents() if one.id == number)


def ended(turn: Turn, lease: OpenLease, was: LeaseState) -> None:
    """Intend the end of a closed lease's Workload: its server is gone, or never was."""
    if turn.desk.kueue is None or lease.pool is None or was is LeaseState.requested:
        return
    turn.tx.intend(DROP, lease.id, {"v": 1}, at=turn.now)


def taken_back(turn: Turn, lease: OpenLease) -> None:
    """Let a lease go on whose call was withdrawn, should Kueue have evicted it meanwhile."""
    if turn.desk.kueue is not None and metered(lease):
        turn.tx.intend(KEEP, lease.id, {"v": 1}, at=turn.now)
