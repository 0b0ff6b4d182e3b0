"""One witness over time: since when it is quiet, judged point by point. Pure.

A point is judged with the window before it. What was judged before is not judged again: its end is
handed in as a clock, so that a server that is quiet for hours costs no more than a busy one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from ..lease import Value

STALE_PERIODS = 3
"""A reading older than this many periods says nothing of now, and a longer gap nothing of then."""

State = Literal["active", "quiet", "unknown"]


class Point(NamedTuple):
    """One reading of one witness: None is unknown."""

    at: datetime
    value: int | None


class Clock(Value):
    """Where a witness stood at its newest reading.

    `quiet_since` is None unless it was quiet then; `low` is the lowest value ever seen, from which
    the resting power and the server's own CPU are learned; `known_at` is the newest reading that
    had a figure.
    """

    at: datetime
    quiet_since: datetime | None
    low: int | None = None
    known_at: datetime | None = None


class Clocks(Value):
    """Where all witnesses of a lease stood when it was last judged, by name."""

    of: tuple[tuple[str, Clock], ...] = ()

    def get(self, name: str) -> Clock | None:
        """The clock of one witness; None before its first reading."""
        return next((clock for one, clock in self.of if one == name), None)


class Track(NamedTuple):
    """What a witness says now.

    `most` is the largest value of the newest quiet run, or the newest value where it is active;
    `age` is how old the newest reading is.
    """

    state: State
    quiet_since: datetime | None
    most: int | None
    age: timedelta | None
    clock: Clock | None


Judge = Callable[[deque[Point], int | None], bool]
"""Whether the newest point of a window is active, given the lowest value that was ever seen."""


class Gauge(NamedTuple):
    """How every witness of one judgement is read."""

    now: datetime
    period: timedelta
    window: timedelta

    def follow(self, points: Iterable[Point], active: Judge, former: Clock | None) -> Track:
        """Follow a series to now; readings after now are not believed."""
        known = sorted(
            (one for one in points if one.at <= self.now),
            key=lambda one: (one.at, one.value is None, one.value or 0),
        )
        newest = known[-1] if known else None
        clock, most = former, None
        for window, point in _windows(known, self.window):
            if former is not None and point.at <= former.at:
                continue
            clock, most = self._step(clock, most, window, point, active)
        if newest is None or clock is None or self._stale(newest.at, self.now):
            return Track(
                "unknown", None, None, None if newest is None else self.now - newest.at, clock
            )
        age = self.now - newest.at
        if newest.value is None:
            return Track("unknown", None, None, age, clock)
        if clock.quiet_since is None:
            return Track("active", None, newest.value, age, clock)
        return Track("quiet", clock.quiet_since, newest.value if most is None else most, age, clock)

    def _step(
        self,
        clock: Clock | None,
        most: int | None,
        window: deque[Point],
        point: Point,
        active: Judge,
    ) -> tuple[Clock, int | None]:
        low = None if clock is None else clock.low
        if point.value is None:
            known_at = None if clock is None else clock.known_at
            return Clock(at=point.at, quiet_since=None, low=low, known_at=known_at), None
        low = point.value if low is None else min(low, point.value)
        if active(window, low):
            return Clock(at=point.at, quiet_since=None, low=low, known_at=point.at), None
        runs_on = (
            clock is not None
            and clock.quiet_since is not None
            and not self._stale(clock.at, point.at)
        )
        since = clock.quiet_since if runs_on and clock is not None else point.at
        largest = point.value if most is None or not runs_on else max(most, point.value)
        return Clock(at=point.at, quiet_since=since, low=low, known_at=point.at), largest

    def _stale(self, earlier: datetime, later: datetime) -> bool:
        return later - earlier > STALE_PERIODS * self.period


def _windows(points: list[Point], width: timedelta) -> Iterator[tuple[deque[Point], Point]]:
    """Give each point with the known ones of the window that ends with it, itself included."""
    window: deque[Point] = deque()
    for point in points:
        if point.value is not None:
            window.append(point)
        while window and point.at - window[0].at > width:
            window.popleft()
        yield window, point


def mostly(active_from: int, share: int) -> Judge:
    """Active where a value is, and enough of its window's with it."""

    def judge(window: deque[Point], _low: int | None) -> bool:
        if (window[-1].value or 0) < active_from:
            return False
        active = sum(1 for one in window if (one.value or 0) >= active_from)
        return active * 100 >= share * len(window)

    return judge


def mean_from(active_from: int, baseline: int = 0) -> Judge:
    """Active where the mean of the window is, above what the server itself takes."""

    def judge(window: deque[Point], low: int | None) -> bool:
        mean = sum(one.value or 0 for one in window) // len(window)
        return mean - min(low or 0, baseline) >= active_from

    return judge


def changed_by(amount: int) -> Judge:
    """Active where values of the window lie so far apart."""

    def judge(window: deque[Point], _low: int | None) -> bool:
        values = [one.value or 0 for one in window]
        return max(values) - min(values) >= amount

    return judge


def above_rest(amount: int) -> Judge:
    """Active where the mean of the window is so far above the lowest that was ever seen.

    Each reading is a mean of one period. One low period in the middle of work takes no veto away,
    and one that a clock or a fan caused gives none.
    """

    def judge(window: deque[Point], low: int | None) -> bool:
        return sum(one.value or 0 for one in window) // len(window) - (low or 0) > amount

    return judge


def anything(window: deque[Point], _low: int | None) -> bool:
    """Active where a value is not zero."""
    return bool(window[-1].value)
