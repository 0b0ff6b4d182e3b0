"""Steps of the wall clock, seen beside a clock that never steps."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from .clock import Clock

LEAST = timedelta(seconds=2)
"""Less is no step: clocks are slewed, and two of them are never read at once."""

_APART_S = 0.5
"""Readings further apart than this say nothing: this process slept between them."""


class ClockWatch:
    """Reads the wall clock, and tells by how much it was set since the reading before."""

    def __init__(self, clock: Clock, steady: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steady = steady
        self._ahead: datetime | None = None

    def read(self) -> tuple[datetime, timedelta]:
        """Return the present instant, and the step that led to it; as a rule none."""
        before_s = self._steady()
        now = self._clock()
        if self._steady() - before_s > _APART_S:
            return now, timedelta(0)
        ahead = now - timedelta(seconds=before_s)
        former, self._ahead = self._ahead, ahead
        step = timedelta(0) if former is None else ahead - former
        return now, step if abs(step) > LEAST else timedelta(0)
