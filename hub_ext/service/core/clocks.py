"""The part of the core that hears of steps of the wall clock.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from datetime import datetime, timedelta

from ...lease import Event
from ..books.desk import Desk
from ..money import waiving

STEPPED = "clock.stepped"
"""Kind of the event: the wall clock was set, by how much."""


class TimeCore:
    """Nobody pays for time that did not pass."""

    _desk: Desk

    def clock_stepped(self, by: timedelta, *, now: datetime) -> None:
        """Record that the clock was set just before `now`; a step forward is charged to nobody.

        Set back, time runs twice and what was charged once is not charged again. That is in the
        favour of who holds a lease, and is left so: a second charge of the same minutes could not
        be told from a fault of the books.
        """
        body: dict[str, object] = {"v": 1, "step_ms": round(by / timedelta(milliseconds=1))}
        with self._desk.turn(now) as turn:
            turn.tx.append(Event(kind=STEPPED, at=now, body=body))
            behind = waiving.step(turn, by)
        self._desk.behind = behind
