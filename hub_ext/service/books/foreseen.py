"""The newest forecast of each pool's queue, and what was learned of leases that ended."""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...admission.forecast import Forecasts, Known
from ...admission.lives import Past
from ...admission.snapshot import Snapshot
from ...lease import Cause, Forecast, LeaseId, OpenLease
from ...policy.model import Policy
from .pastleases import Piece

MOST_LEARNED = 500
"""Newest ended leases that lives are learned from."""

STALE = timedelta(minutes=1)
"""A forecast is made anew after so long, even if nothing was written: time passes."""

EVERY = timedelta(seconds=10)
"""A busy queue changes all the time; nobody plans by seconds."""

TOLD = timedelta(minutes=15)
"""An older forecast is not shown any more."""

NO_LIFE = frozenset({Cause.failed, Cause.refused_by_hub, Cause.never_used, Cause.lost})
"""Ends that tell nothing of how long people stay."""


@dataclass(frozen=True)
class Ground:
    """What one forecast is made from."""

    snapshot: Snapshot
    known: Known
    mark: tuple[int, int]


@dataclass
class Foreseen:
    """The newest forecast, and what was learned of former leases."""

    made: Forecasts | None = None
    _mark: tuple[int, int] | None = None
    _ended: deque[Past] = field(default_factory=lambda: deque(maxlen=MOST_LEARNED))

    def due(self, mark: tuple[int, int], now: datetime) -> bool:
        """Whether anything was written since, or the newest forecast is old."""
        if self.made is None:
            return True
        age = now - self.made.at
        if not timedelta(0) <= age < STALE:
            return True
        return self._mark != mark and age >= EVERY

    def take(self, ground: Ground, made: Forecasts) -> None:
        """Keep a forecast in place of the former."""
        self.made, self._mark = made, ground.mark

    def of(self, lease_id: LeaseId, now: datetime) -> Forecast | None:
        """Give the forecast of a waiting request; None where there is none yet."""
        made = self._current(now)
        return None if made is None else made.waiting.get(lease_id)

    def coming(self, team: str, profile: str, now: datetime) -> Forecast | None:
        """Give the forecast of one more request of a team and profile."""
        made = self._current(now)
        return None if made is None else made.coming.get((team, profile))

    def _current(self, now: datetime) -> Forecasts | None:
        made = self.made
        return made if made is not None and abs(now - made.at) < TOLD else None

    @property
    def learned(self) -> tuple[Past, ...]:
        """Lives that were learned, the oldest end first."""
        return tuple(self._ended)

    @property
    def learns_more(self) -> bool:
        """Whether older ends than those known would be kept."""
        return len(self._ended) < MOST_LEARNED

    def learn(self, piece: Piece, policy: Policy) -> None:
        """Learn from the leases that ended."""
        for lease, _at in reversed(piece.older):
            known = _life(lease, policy)
            if known is not None and self.learns_more:
                self._ended.appendleft(known)
        for lease, _at in piece.newer:
            known = _life(lease, policy)
            if known is not None:
                self._ended.append(known)


def _life(lease: OpenLease, policy: Policy) -> Past | None:
    """How long a lease lived and had declared; None where nothing is told of that."""
    if lease.assigned_at is None or lease.closed_at is None or lease.cause in NO_LIFE:
        return None
    entry = policy.profiles.get(lease.profile)
    declared = None if entry is None else entry.lifetime.default
    if lease.choice.lifetime_s is not None:
        declared = timedelta(seconds=lease.choice.lifetime_s)
    if declared is None:
        return None
    lived = lease.closed_at - lease.assigned_at
    return Past(lease.requested_at, lease.team, lease.project, lease.profile, declared, lived)
