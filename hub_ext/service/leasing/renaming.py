"""A person who was renamed while their server runs: its lease follows, and nothing is stopped.

The hub tells of no renaming. What shows it: the old name is unknown there, and one server of the
same name runs for somebody else without a lease, started when this one was granted.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from ...lease import LeaseId, OpenLease, ServerKey
from ...ledger.reservations import CHANGED
from ..basis.hub import HubServer
from ..books.desk import Desk, Turn

RENAMED = "server.renamed"

WITHIN = timedelta(seconds=30)
"""Between the hub's start of a server and the grant: it asks right after, for 2 s at most."""


def renamed(
    lease: OpenLease, servers: Iterable[HubServer], leased: Collection[ServerKey]
) -> ServerKey | None:
    """The one server that may be this lease's under another name; None where none or several."""
    if lease.assigned_at is None:
        return None
    found = [
        one.key
        for one in servers
        if one.key.server == lease.key.server
        and one.key not in leased
        and one.started is not None
        and abs(one.started - lease.assigned_at) <= WITHIN
    ]
    return found[0] if len(found) == 1 else None


def follow(desk: Desk, lease_id: LeaseId, key: ServerKey, *, now: datetime) -> bool:
    """Let a lease follow its owner's new name; what was charged before stays as it is.

    What they have reserved follows too.

    Returns whether it did: not where it has closed, or the new name has a lease of that server.
    """
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        if not lease.open or turn.tx.lease_of(key) is not None:
            return False
        body: dict[str, object] = {
            "v": 1,
            "from": lease.key.model_dump(mode="json"),
            "to": key.model_dump(mode="json"),
        }
        turn.note(RENAMED, lease, body)
        turn.record(lease.model_copy(update={"key": key}))
        _follow_reservations(turn, lease.key, key)
        desk.strangers.discard(key)
    return True


def _follow_reservations(turn: Turn, former: ServerKey, present: ServerKey) -> None:
    for one in turn.tx.reservations():
        if (one.key.hub, one.key.user) == (former.hub, former.user):
            key = one.key.model_copy(update={"user": present.user})
            owned = one.model_copy(update={"key": key})
            turn.tx.record_reservation(owned, CHANGED, actor=turn.actor, at=turn.now)
