"""The core's part that concerns waiting: the queue's turns, what people see of it and wish.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Callable
from datetime import datetime

from ...lease import Actor, Choice, LeaseId, OpenLease, ServerKey, Ticket, When
from ...ledger.duties import Intent
from ..basis.hub import HubAnswer
from ..books.desk import Desk
from ..queueing import answers, board, wishes
from ..queueing import turn as queueing
from ..reclaim import visits
from .kueue import KueueCore


class QueueCore(KueueCore):
    """Everything of the governor that only requests in the queue need."""

    _desk: Desk

    def serve_queue(self, *, now: datetime) -> int:
        """Turn the queue once; see `queueing.serve`."""
        return queueing.serve(self._desk, now=now)

    def tickets(self, shown: Callable[[OpenLease], bool], *, now: datetime) -> tuple[Ticket, ...]:
        """List waiting requests with their place and reason; see `board.tickets`."""
        return board.tickets(self._desk, shown, now=now)

    def left_queue(self, user: str, *, since: datetime) -> tuple[OpenLease, ...]:
        """List requests of a person that left the queue since, without having been started."""
        return board.left(self._desk, user, since)

    def can_start(self, lease_id: LeaseId, *, now: datetime) -> tuple[Choice, ...]:
        """Choices that could start at once instead of a waiting one."""
        return board.can_start(self._desk, lease_id, now=now)

    def cancel(self, lease_id: LeaseId, *, actor: Actor, now: datetime) -> OpenLease:
        """Take a request out of the queue; see `wishes.cancel`."""
        return wishes.cancel(self._desk, lease_id, actor=actor, now=now)

    def change(
        self, lease_id: LeaseId, choice: Choice, when: When, *, actor: Actor, now: datetime
    ) -> OpenLease:
        """Let somebody wait for something else; see `wishes.change`."""
        return wishes.change(self._desk, lease_id, choice, when, actor=actor, now=now)

    def start_answered(self, intent: Intent, answer: HubAnswer, *, now: datetime) -> None:
        """Take the hub's answer to a start; see `answers.start_answered`."""
        answers.start_answered(self._desk, intent, answer, now=now)

    def visited(self, key: ServerKey, *, now: datetime) -> None:
        """Note that somebody is at a server; see `visits.visited`."""
        visits.visited(self._desk, key, now=now)

    def unused(self, *, now: datetime) -> tuple[OpenLease, ...]:
        """List servers that were started for somebody who never came; see `visits`."""
        return visits.candidates(self._desk, now=now)
