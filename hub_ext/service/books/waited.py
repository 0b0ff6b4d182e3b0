"""Recorded waits of the last days, as far as they were read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...lease import LeaseId
from ...reports.waits import Wait, wait_of
from .pastleases import Piece, Seen

SPAN = timedelta(days=30)
"""What is shown reaches back so far."""

MOST_KEPT = 2000
"""Waits that are kept; older ones are not shown."""


@dataclass
class Waits:
    """Waits that were read so far, in the order of the record."""

    _found: dict[LeaseId, Wait] = field(default_factory=dict)

    def wants(self, before: datetime, now: datetime) -> bool:
        """Whether waits before an instant would be kept."""
        return len(self._found) < MOST_KEPT and before >= now - SPAN

    def take(self, piece: Piece, now: datetime) -> None:
        """Keep what was read, and let go what is too old or too much."""
        newer, self._found = self._found, {}
        self._add(piece.older)
        self._found |= newer
        self._add(piece.newer)
        old = [name for name, one in self._found.items() if one.ended < now - SPAN]
        for name in (*old, *list(self._found)[: max(0, len(self._found) - MOST_KEPT)]):
            self._found.pop(name, None)

    @property
    def known(self) -> tuple[Wait, ...]:
        """All that was read and is kept."""
        return tuple(self._found.values())

    def _add(self, seen: Iterable[Seen]) -> None:
        for lease, at in seen:
            wait = wait_of(lease, at)
            if wait is not None:
                self._found[wait.lease_id] = wait
