"""Recorded waits of the last days, read from the ledger a bounded piece at a time.

The newest are read first, older ones at later looks; no decision waits for it.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..lease import Event, LeaseId
from ..ledger.fold import lease_in
from ..ledger.store import Tx
from ..reports.waits import Wait, wait_of

SPAN = timedelta(days=30)
"""What is shown reaches back so far."""

MOST_KEPT = 2000
"""Waits that are kept; older ones are not shown."""

PAGE = 100
"""Events read in one look, of the newest and of older ones each."""

_KINDS = ("lease.running", "lease.closed")


@dataclass
class Waits:
    """What was read so far: forward from the newest event seen, and back from the oldest."""

    _found: dict[LeaseId, Wait] = field(default_factory=dict)
    _newest: int = 0
    _oldest: int | None = None
    """Events below are still to be read; 0 where none is."""

    def look(self, tx: Tx, now: datetime) -> None:
        """Read on: what came since, and one page of what was before."""
        if self._oldest is None:
            page = tx.events(kinds=_KINDS, limit=PAGE, newest=True)
            self._newest = page[0][0] if page else 0
            self._back(page, now)
            return
        if self._oldest:
            self._back(tx.events(kinds=_KINDS, before=self._oldest, limit=PAGE, newest=True), now)
        for seq, event in tx.events(kinds=_KINDS, after=self._newest, limit=PAGE):
            self._newest = seq
            self._take(event)
        old = [name for name, one in self._found.items() if one.ended < now - SPAN]
        for name in (*old, *list(self._found)[: max(0, len(self._found) - MOST_KEPT)]):
            self._found.pop(name, None)

    @property
    def known(self) -> tuple[Wait, ...]:
        """All that was read and is kept."""
        return tuple(self._found.values())

    def _back(self, page: tuple[tuple[int, Event], ...], now: datetime) -> None:
        newer, self._found = self._found, {}
        for _seq, event in reversed(page):
            self._take(event)
        self._found |= newer
        more = len(page) == PAGE and len(self._found) < MOST_KEPT
        self._oldest = page[-1][0] if more and page[-1][1].at >= now - SPAN else 0

    def _take(self, event: Event) -> None:
        lease = lease_in(event)
        wait = None if lease is None else wait_of(lease, event.at)
        if wait is not None:
            self._found[wait.lease_id] = wait
