"""Leases that came up or ended, read from the ledger a bounded piece at a time.

The newest are read first, older ones at later looks; no decision waits for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ...lease import Event, OpenLease
from ...ledger.fold import lease_in
from ...ledger.store import Tx

PAGE = 100
"""Events read in one look, of the newest and of older ones each."""

KINDS = ("lease.running", "lease.closed")

Seen = tuple[OpenLease, datetime]
"""A lease as it was recorded, and when."""


@dataclass(frozen=True)
class Piece:
    """What one look read, in the order of the record: `older` before all former looks' leases."""

    older: tuple[Seen, ...] = ()
    newer: tuple[Seen, ...] = ()


@dataclass
class PastLeases:
    """How far the record was read: forward to the newest event, and back to the oldest."""

    _newest: int = 0
    _oldest: tuple[int, datetime] | None = None
    """Where what is still to be read ends."""
    _begun: bool = False

    def look(self, tx: Tx, wanted: Callable[[datetime], bool]) -> Piece:
        """Read on: what came since, and one page of what was before.

        Parameters
        ----------
        wanted
            Whether anybody wants to know of what was before an instant; once nobody does, it is
            not read any more.
        """
        if not self._begun:
            page = tx.events(kinds=KINDS, limit=PAGE, newest=True)
            self._begun, self._newest = True, page[0][0] if page else 0
            return Piece(older=self._back(page))
        older: tuple[Seen, ...] = ()
        if self._oldest is not None and wanted(self._oldest[1]):
            before = self._oldest[0]
            older = self._back(tx.events(kinds=KINDS, before=before, limit=PAGE, newest=True))
        else:
            self._oldest = None
        page = tx.events(kinds=KINDS, after=self._newest, limit=PAGE)
        self._newest = page[-1][0] if page else self._newest
        return Piece(older, _seen(page))

    def _back(self, page: tuple[tuple[int, Event], ...]) -> tuple[Seen, ...]:
        self._oldest = (page[-1][0], page[-1][1].at) if len(page) == PAGE else None
        return _seen(page[::-1])


def _seen(page: tuple[tuple[int, Event], ...]) -> tuple[Seen, ...]:
    found = ((lease_in(event), event.at) for _seq, event in page)
    return tuple((lease, at) for lease, at in found if lease is not None)
