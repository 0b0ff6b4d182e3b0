"""How everybody's starts went lately: learnt from the ledger, so that a restart forgives nothing.

It counts; who has to wait is said by `slowing`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...lease import Cause, Event, LeaseId, LeaseState, OpenLease
from ...ledger.fold import lease_in
from ...ledger.store import Tx
from ...policy.model import StartRules

KINDS = ("lease.running", "lease.closed")

PAGE = 200
"""Events that are read at once; at the governor's start no more than these are looked at."""

SETTLED = timedelta(minutes=2)
"""A server that ran for so long has started well, however it ended."""


@dataclass
class Tries:
    """Starts of one person: how many failed in a row, the last of them, and what runs now."""

    failed: int = 0
    last_at: datetime | None = None
    running: dict[LeaseId, datetime] = field(default_factory=dict)


@dataclass
class Failing:
    """How everybody's starts went, as far as the record was read."""

    _people: dict[str, Tries] = field(default_factory=dict)
    _after: int | None = None

    def look(self, tx: Tx) -> None:
        """Read what was recorded since the last look."""
        if self._after is None:
            page = tx.events(kinds=KINDS, limit=PAGE, newest=True)
            self._after = page[0][0] if page else 0
            self.take(event for _seq, event in reversed(page))
            return
        while page := tx.events(kinds=KINDS, after=self._after, limit=PAGE):
            self._after = page[-1][0]
            self.take(event for _seq, event in page)

    def take(self, events: Iterable[Event]) -> None:
        """Count what events tell."""
        for event in events:
            lease = lease_in(event)
            if lease is not None:
                self._count(lease, event.at)

    def _count(self, lease: OpenLease, at: datetime) -> None:
        tries = self._people.setdefault(lease.key.user, Tries())
        if lease.state is LeaseState.running:
            tries.running.setdefault(lease.id, lease.started_at or at)
            return
        began = tries.running.pop(lease.id, lease.started_at)
        ended = lease.closed_at or at
        if began is not None and ended - began >= SETTLED:
            tries.failed = 0
        elif lease.cause is Cause.failed:
            # Of a server that died by itself `ended` is when it was last seen to live.
            tries.failed, tries.last_at = tries.failed + 1, at
        if not tries.failed and not tries.running:
            del self._people[lease.key.user]

    def until(self, user: str, rules: StartRules, now: datetime) -> tuple[datetime, int] | None:
        """Until when somebody waits, and after how many failures; None where they need not."""
        tries = self._people.get(user)
        if tries is None or tries.last_at is None or tries.failed < rules.failures:
            return None
        if any(now - since >= SETTLED for since in tries.running.values()):
            tries.failed = 0
            return None
        # Beyond this many doublings it is the longest in any case.
        doubled = rules.pause * 2 ** min(tries.failed - rules.failures, 20)
        end = tries.last_at + min(doubled, rules.longest_pause)
        # A clock that was set back must keep nobody for longer than the longest pause.
        return (end, tries.failed) if tries.last_at <= now < end else None
