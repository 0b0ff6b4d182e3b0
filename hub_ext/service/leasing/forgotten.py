"""A server that the hub has forgotten while its process lives: it stops, counts, and is to end.

It records; the signals are sent by `ending`, each after its record.
"""

import signal
from datetime import datetime

from ...i18n import _
from ...lease import GOVERNOR, Cause, LeaseId, LeaseState, OpenLease, ProcessRef, Reason
from ...ledger.duties import Intent
from ..basis.words import server_words
from ..books.desk import Desk
from ..reclaim.stops import ask_stop

END = "end"
"""Kind of the intent to end a forgotten server's processes."""

SIGNALLED = "server.signalled"
"""Kind of the event that comes before each signal."""


def forget(desk: Desk, lease_id: LeaseId, process: ProcessRef | None, *, now: datetime) -> bool:
    """Record that the hub has a server stopped whose process lives, and intend its end.

    It keeps its GPU and counts until it is gone. Returns whether that is news.
    """
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        if not lease.open:
            return False
        said = any(one.kind == END for one in turn.tx.intents(lease.id))
        if said and lease.state is LeaseState.stopping:
            return False
        if lease.process is None and process is not None:
            lease = turn.record(lease.model_copy(update={"process": process}))
        body = {"v": 1, "key": lease.key.model_dump(mode="json")}
        turn.tx.intend(END, lease.id, body, at=now)
    why = _forgotten(lease)
    ask_stop(desk, lease_id, cause=Cause.lost, reason=why, actor=GOVERNOR, now=now)
    return True


def _forgotten(lease: OpenLease) -> Reason:
    pid = lease.process.pid if lease.process is not None else None
    return Reason(
        code="forgotten-by-hub",
        message=_(
            "{server} is stopped for the hub, but its process {pid} still runs and keeps its "
            "GPU. It is told to end soon, and ended where it does not; then a new start is "
            "possible."
        ).format(server=server_words(lease.key), pid="?" if pid is None else pid),
        figures={} if pid is None else {"pid": pid},
    )


def signalled(
    desk: Desk,
    intent: Intent,
    processes: tuple[ProcessRef, ...],
    number: signal.Signals,
    *,
    now: datetime,
) -> None:
    """Record a signal before it is sent."""
    with desk.turn(now) as turn:
        turn.tx.retried(intent.id, at=now)
        lease = turn.found(intent.lease_id)
        sent = [one.model_dump(mode="json") for one in processes]
        turn.note(SIGNALLED, lease, {"v": 1, "signal": number.name, "processes": sent})
