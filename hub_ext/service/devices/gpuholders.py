"""Which servers on Kubernetes hold a GPU without a lease, and which of them may be ended for it.

What the ledger knows nothing of is shown, never ended: the ledger may be the one that is wrong.
"""

from dataclasses import asdict
from datetime import datetime

from ...kube.leaseless import Holder, leaseless
from ...kube.podterms import place_of
from ...lease import Event, LeaseId
from ..books.desk import Desk, Turn

LEASELESS = "server.leaseless"
"""Event: a server held a GPU on Kubernetes without a lease, at two looks, and is ended."""


def look(
    desk: Desk, holders: tuple[Holder, ...], *, whole: bool, now: datetime
) -> tuple[Holder, ...]:
    """Take which servers hold GPUs, and choose those that are to be ended.

    Parameters
    ----------
    whole
        Whether every namespace was seen; else nobody knows who holds none.
    """
    found = frozenset((one.user, one.server) for one in holders)
    desk.gpu_servers = found if whole else None
    with desk.turn(now) as turn:
        return _to_end(turn, holders)


def note(desk: Desk, one: Holder, *, now: datetime) -> bool:
    """Record that a server is ended; False where it may go on by now."""
    with desk.turn(now) as turn:
        if not _to_end(turn, (one,)):
            return False
        body: dict[str, object] = {"v": 1, **asdict(one), "resources": list(one.resources)}
        turn.tx.append(Event(kind=LEASELESS, at=now, actor=turn.actor, body=body))
        return True


def unplaced(desk: Desk) -> dict[LeaseId, str]:
    """Say in which namespace the pod of each lease would be that was granted none."""
    policy = desk.book.known
    if policy is None or not desk.settings.on_kubernetes:
        return {}
    single = desk.settings.kube_namespace or None
    with desk.ledger.transaction() as tx:
        leases = [one for one in tx.leases() if one.grant is None or one.grant.pod is None]
    return {
        one.id: place_of(policy, one.team, one.project, single).namespace
        for one in leases
        if one.project is None or one.project in policy.projects
    }


def _to_end(turn: Turn, holders: tuple[Holder, ...]) -> tuple[Holder, ...]:
    """Choose by what the ledger says, where quota is enforced."""
    policy = turn.desk.book.known
    if policy is None or policy.modes.quota != "enforce":
        return ()
    without = leaseless(holders, turn.desk.settings.hub, turn.tx.leases())
    return tuple(one for one in without if _known_over(turn, one))


def _known_over(turn: Turn, one: Holder) -> bool:
    """Whether nobody ever granted it a lease, or the ledger has that lease and it is closed."""
    if not one.lease:
        return not one.hub
    lease = turn.tx.lease(LeaseId(one.lease))
    return lease is not None and not lease.open
