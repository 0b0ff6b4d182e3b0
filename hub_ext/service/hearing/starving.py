"""What each server's GPU waits for: looked at once a minute, kept for those who ask.

It decides nothing; a view of a lease reads no series of its own for it.
"""

from datetime import datetime

from ... import starving
from ...lease import LeaseId, OpenLease, WaitsFor
from ...policy.model import Policy
from ..books.desk import Desk
from .readings import gathered


def look(desk: Desk, lease: OpenLease, policy: Policy, *, now: datetime) -> WaitsFor | None:
    """Look at the last minutes of a live lease; None without a GPU."""
    if not lease.devices:
        return None
    heard = gathered(desk, lease, now - starving.WINDOW, now)
    activity = desk.activity.of(lease, now)
    seen = starving.Seen(
        devices=heard.devices,
        processes=heard.processes,
        cpu_millis=lease.grant.cpu_millis if lease.grant is not None else None,
        out_of_memory_at=activity.out_of_memory_at if activity is not None else None,
    )
    found = starving.waits_for(seen, policy.starving, now)
    desk.waits_for[lease.id] = found
    return found


def forget(desk: Desk, live: frozenset[LeaseId]) -> None:
    """Forget what was seen of servers that are gone."""
    desk.waits_for = {one: seen for one, seen in desk.waits_for.items() if one in live}
