"""GPUs that lie unused beside other work, and for which somebody waits.

It says whose end would help; the culler tells and stops them, as it does idle servers.
"""

from collections.abc import Mapping
from datetime import datetime

from ...admission.freeing import freeing
from ...lease import Cause, LeaseId, LeaseState, OpenLease
from ..books.desk import Desk


def wanted(desk: Desk, unused: Mapping[LeaseId, datetime], *, now: datetime) -> frozenset[LeaseId]:
    """Choose of servers with an unused GPU those whose end lets somebody start.

    Who was told already goes first, so that a notice does not wander; then whose GPU has lain
    unused for longest.
    """
    if not unused:
        return frozenset()
    with desk.turn(now) as turn:
        snapshot = turn.snapshot()
    if not any(lease.state is LeaseState.queued for lease in snapshot.leases):
        return frozenset()
    there = {lease.id: lease for lease in snapshot.leases}
    told = {one for one, lease in there.items() if one in unused and _is_told(lease)}
    ending = [
        one
        for one, lease in there.items()
        if lease.state is LeaseState.stopping or (one not in unused and _is_told(lease))
    ]
    order = sorted(
        unused.keys() & there.keys(), key=lambda one: (one not in told, unused[one], one)
    )
    return freeing(snapshot, ending, order)


def _is_told(lease: OpenLease) -> bool:
    """Whether its stop is announced for soon enough to be waited for."""
    notice = lease.notice
    return notice is not None and notice.cause in _SOON and not notice.is_advice


_SOON = frozenset({Cause.culled, Cause.expired, Cause.preempted})
