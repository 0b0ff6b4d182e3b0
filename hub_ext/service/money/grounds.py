"""What pages and reports of money are made from: charges of a window, with what is known of them.

It reads alone, in one turn; sums and words are made elsewhere.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from ...lease import LeaseId, Posting
from ...metering import Use
from ...reports.spend import LeaseFacts
from ..basis.windows import Window
from ..books.desk import Desk
from .usage import Scope, reckoned


class Ground(NamedTuple):
    """Charges of a window and what is known beside them, as of `now`.

    `closed_until` is the end of the newest closed month.
    """

    scope: Scope
    window: Window
    now: datetime
    lines: tuple[Posting, ...]
    facts: Mapping[LeaseId, LeaseFacts]
    used: Mapping[LeaseId, Use]
    running: frozenset[LeaseId]
    closed_until: datetime | None

    @property
    def end(self) -> datetime:
        """End of what can have been charged by now."""
        return min(self.window.end, self.now)


def ground(desk: Desk, scope: Scope, window: Window, *, now: datetime) -> Ground:
    """Read charges, facts and use of a window.

    Raises
    ------
    RefusedError
        Where the charges are not what the ledger itself adds up to.
    """
    end = min(window.end, now)
    with desk.turn(now) as turn:
        lines = tuple(reckoned(turn, scope, window.start, end))
        facts = desk.facts.of(turn.tx, (line.lease_id for line in lines), desk.book.known)
        running = frozenset(lease.id for lease in turn.tx.leases())
        closed = turn.tx.closed_until()
    used = desk.samples.used_by((line.lease_id for line in lines), window.start, end)
    return Ground(scope, window, now, lines, facts, used, running, closed)
