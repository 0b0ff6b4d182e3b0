"""Anomalies that are open, and those that were within the last week: made of the ledger's events.

Besides, in memory alone, what the next look needs: figures of leases, and since when something
has been seen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ...anomaly import Finding, Reach
from ...lease import Event, LeaseId
from ...lease.anomalies import Anomaly
from ...ledger.store import Ledger, Tx

BEGAN = "anomaly.began"
ENDED = "anomaly.ended"

REMEMBERED = timedelta(days=7)
"""How long an anomaly that is over is shown."""


@dataclass(frozen=True)
class Looked:
    """What the last look at one lease found, and when that was."""

    at: datetime
    findings: tuple[Finding, ...]


@dataclass
class AnomalyBook:
    """The state that the events so far have made, and what was seen since the start."""

    open: dict[tuple[str, str], Anomaly] = field(default_factory=dict)
    ended: list[Anomaly] = field(default_factory=list)
    looked: dict[LeaseId, Looked] = field(default_factory=dict)
    since: dict[str, datetime] = field(default_factory=dict)
    """When a stray process or a server without a lease was first seen."""
    held: dict[str, list[Reach]] = field(default_factory=dict)
    """How much of each pool was held, and when; what is older than anybody asks for is let go."""
    watched_since: datetime | None = None
    """Since when that is looked at; before, only the ledger knows."""

    def apply(self, event: Event) -> None:
        """Take one event."""
        if event.kind not in {BEGAN, ENDED}:
            return
        one = Anomaly.model_validate(event.body["anomaly"])
        if event.kind == BEGAN:
            self.open[one.kind, one.subject] = one
        else:
            self.open.pop((one.kind, one.subject), None)
            self.ended.append(one)

    def found(self, anomaly_id: str) -> Anomaly | None:
        """The open anomaly of that id."""
        return next((one for one in self.open.values() if one.id == anomaly_id), None)

    def forget(self, now: datetime) -> None:
        """Let go of what was over long ago."""
        self.ended = [one for one in self.ended if now - (one.ended or now) < REMEMBERED]

    def watch(self, units: Mapping[str, int], now: datetime, kept: timedelta) -> None:
        """Note how much of each pool is held from now on."""
        self.watched_since = self.watched_since or now
        for pool in units.keys() | self.held.keys():
            seen = self.held.setdefault(pool, [])
            watched = bool(seen) and seen[-1].watched
            if watched:
                # When between two looks it changed is not known: it was held until now.
                seen[-1] = replace(seen[-1], end=now)
            if not watched or seen[-1].units != units.get(pool, 0):
                seen.append(Reach(now, now, units.get(pool, 0), watched=True))
            self.held[pool] = [one for one in seen if one.end >= now - kept]

    def first_seen(self, names: Iterable[str], kind: str, now: datetime) -> dict[str, datetime]:
        """Tell since when each has been seen, and forget those that are not there now."""
        marks = {f"{kind} {name}": name for name in names}
        for mark in [one for one in self.since if one.startswith(f"{kind} ")]:
            if mark not in marks:
                del self.since[mark]
        return {name: self.since.setdefault(mark, now) for mark, name in marks.items()}


def read(ledger: Ledger) -> AnomalyBook:
    """Make the present state of all events; they are few, and found by their kind."""
    with ledger.transaction() as tx:
        return of_ledger(tx)


def of_ledger(tx: Tx) -> AnomalyBook:
    """Make it in a transaction, be it one that only reads."""
    book = AnomalyBook()
    for event in tx.every((BEGAN, ENDED)):
        book.apply(event)
    return book
