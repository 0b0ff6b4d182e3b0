"""What follows from the hub's answer to a start that was made for somebody who waited.

Nothing follows from "started": the spawner's claim says that. Most answers only mean "again".
"""

from datetime import datetime

from ...i18n import _
from ...lease import Cause, LeaseState, OpenLease, Reason, local_text
from ...ledger.duties import Intent
from ..basis.hub import HubAnswer, HubSaid
from ..books.desk import Desk, Turn
from ..leasing.closing import End, close

ANSWERED = "start.answered"
"""Event: what the hub said to a start, while nobody has claimed the lease."""


def start_answered(desk: Desk, intent: Intent, answer: HubAnswer, *, now: datetime) -> None:
    """Take the hub's answer; a lease that was claimed or given up meanwhile is left alone."""
    with desk.turn(now) as turn:
        lease = turn.tx.lease(intent.lease_id)
        if lease is None or lease.state is not LeaseState.held:
            return
        body: dict[str, object] = {
            "v": 1,
            "said": answer.said.value,
            "status": answer.status,
            "words": answer.words,
        }
        turn.note(ANSWERED, lease, body)
        match answer.said:
            case HubSaid.unknown_server:
                close(turn, lease, End(Cause.cancelled, reason=_gone(lease)))
            case HubSaid.forbidden:
                turn.tx.settle(intent.id, answer.said.value, at=now)
                turn.record(lease.model_copy(update={"reason": _forbidden(turn, lease)}))
            case _:
                # Pending, running, busy, away: asked again until the hold runs out.
                pass


def _gone(lease: OpenLease) -> Reason:
    return Reason(
        code="server-gone",
        message=_(
            "The hub no longer has user {user} with this server: renamed or deleted since. The "
            "request has left the queue; ask again under the present name."
        ).format(user=lease.key.user),
    )


def _forbidden(turn: Turn, lease: OpenLease) -> Reason:
    at = local_text(lease.held_until or turn.now, turn.desk.book.policy.timezone)
    return Reason(
        code="start-forbidden",
        message=_(
            "The hub does not let GPU Commons start your server. The device is held for you "
            "until {at}: start the server yourself, and tell an administrator."
        ).format(at=at),
    )
