"""How far this machine's clock is from the governor's, by the way there and back of batches.

As NTP does it: the answer's instant lies between sending and hearing, so the quickest of the last
few answers tells best. It sets no clock; the governor puts readings on its own.
"""

from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from ..lease import ClockOffset

REMEMBERED = 8
"""Answers that are compared; at 10 s a clock that is being slewed moves by less than 50 ms."""

STEP = timedelta(milliseconds=500)
"""A wall clock that moves by more against the steady one was set, and tells nothing of before."""


class _Told(NamedTuple):
    offset: timedelta
    within: timedelta


class PeerClock:
    """Compares two clocks.

    Parameters
    ----------
    now
        This machine's clock.
    steady
        Seconds of a clock that never steps.
    """

    def __init__(self, now: Callable[[], datetime], steady: Callable[[], float]) -> None:
        self._now = now
        self._steady = steady
        self._told: deque[_Told] = deque(maxlen=REMEMBERED)
        self._base = self._apart()

    def heard(self, at: datetime, took_s: float) -> None:
        """Take the governor's clock out of an answer that came just now.

        Parameters
        ----------
        at
            Its clock when it answered.
        took_s
            Seconds since the batch was sent.
        """
        self._look_for_step()
        half = timedelta(seconds=max(0.0, took_s) / 2)
        told = _Told(at - (self._now() - half), half)
        best = self._best()
        # The governor's own clock was set: what it told before is of another clock.
        if best is not None and abs(told.offset - best.offset) > told.within + best.within + STEP:
            self._told.clear()
        self._told.append(told)

    def offset(self) -> ClockOffset | None:
        """Tell the offset as of now; None while nothing is known since a clock was set."""
        self._look_for_step()
        best = self._best()
        if best is None:
            return None
        return ClockOffset(
            offset_ms=round(best.offset / timedelta(milliseconds=1)),
            within_ms=-(-best.within // timedelta(milliseconds=1)),
        )

    def _best(self) -> _Told | None:
        return min(self._told, key=lambda one: one.within, default=None)

    def _look_for_step(self) -> None:
        apart = self._apart()
        if abs(apart - self._base) > STEP:
            self._told.clear()
            self._base = apart

    def _apart(self) -> timedelta:
        return timedelta(seconds=self._now().timestamp() - self._steady())
