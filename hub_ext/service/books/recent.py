"""What each person had lately, in GPU-seconds that fade: one of the parts of their priority.

Kept in memory and brought forward from the newest charges; at a start it is read anew from those
of a few half-lives. It never reads more at once than a bounded number of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp2, log

from ...lease import OpenLease
from ...ledger.charges import Spent
from ...ledger.store import Tx
from ...metering import SITE_USER
from ...units import UNITS_PER_GPU

LOOK_BACK = 8
"""Half-lives after which 1/256 is left of what somebody had; older charges are not read."""

MOST_AT_ONCE = 5000
"""Charges that are read in one go; the rest at the next."""

EVERY = timedelta(minutes=1)
"""Between two looks; a point of priority is many GPU-minutes."""


@dataclass
class RecentUse:
    """Faded sums by person. Each look is a transaction of its own: it reads what is committed."""

    figures: Mapping[str, int] = field(default_factory=dict)
    """GPU-seconds by person at the newest look."""
    _sums: dict[str, float] = field(default_factory=dict)
    _at: datetime | None = None
    _seq: int = 0
    _half_life: timedelta = timedelta(0)
    _more: bool = False

    def look(self, tx: Tx, half_life: timedelta, now: datetime) -> None:
        """Bring the figures up to date where they are older than a minute."""
        known = self._at is not None and self._half_life == half_life
        since = now - self._at if known and self._at is not None else None
        if since is None or since < timedelta(0):
            # Another half-life, or a clock that was set back: what has faded is not known.
            self._sums, self._seq, self._half_life = {}, 0, half_life
        elif since < EVERY and not self._more:
            return
        else:
            faded = _faded(since, half_life)
            self._sums = {user: one * faded for user, one in self._sums.items() if one >= 1}
        self._at = now
        self._read(tx, now)
        self.figures = self._with_open(tx.leases(), now)

    def _read(self, tx: Tx, now: datetime) -> None:
        lines = tx.spent(
            after=self._seq, ended_after=now - LOOK_BACK * self._half_life, limit=MOST_AT_ONCE
        )
        self._more = len(lines) >= MOST_AT_ONCE
        for line in lines:
            self._seq = max(self._seq, line.seq)
            if line.user != SITE_USER:
                self._add(self._sums, line, now)

    def _with_open(self, leases: Iterable[OpenLease], now: datetime) -> dict[str, int]:
        sums = dict(self._sums)
        for lease in leases:
            start = lease.charged_until or lease.assigned_at
            if lease.holding and start is not None and lease.units:
                line = Spent(0, lease.key.user, lease.units, start, max(start, now))
                self._add(sums, line, now)
        return {user: round(one) for user, one in sums.items() if one >= 1}

    def _add(self, sums: dict[str, float], line: Spent, now: datetime) -> None:
        """Count a stretch: each of its seconds has faded since it passed."""
        half_life = self._half_life
        left = _faded(now - line.end, half_life) - _faded(now - line.start, half_life)
        seconds = left * half_life.total_seconds() / log(2)
        sums[line.user] = sums.get(line.user, 0.0) + seconds * line.units / UNITS_PER_GPU


def _faded(age: timedelta, half_life: timedelta) -> float:
    return exp2(-max(0.0, age / half_life))
