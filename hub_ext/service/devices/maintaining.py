"""Maintenance that administrators announce and call off, each an event with who and why.

Nothing here begins or ends it: what is on is read from the clock by whoever decides.
"""

from datetime import datetime, timedelta

from pydantic import AwareDatetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Event, Maintenance, MaintenanceSheet, Spot
from ..books.desk import Desk
from ..books.outages import ANNOUNCE, CALL_OFF
from .upkeep import known_spot, recorded

LONGEST_AHEAD = timedelta(days=366)
"""How far ahead maintenance may lie, and how long it may last."""


class Announcement(Spot):
    """What gets no lease, from when to when."""

    start: AwareDatetime
    end: AwareDatetime


def announce(
    desk: Desk, wanted: Announcement, *, reason: str, actor: Actor, now: datetime
) -> MaintenanceSheet:
    """Announce maintenance; who is there is told within seconds, and new leases end before it.

    Raises
    ------
    RefusedError
        When there is no such pool, machine or device, or the time is over, reversed or too far.
    """
    known_spot(desk, wanted, now)
    start = max(wanted.start, now)
    if wanted.end <= start:
        raise RefusedError(
            "bad-time",
            _("Maintenance has to end after it begins, and later than now. Give other times."),
            status=400,
        )
    if wanted.end - now > LONGEST_AHEAD:
        raise RefusedError(
            "bad-time",
            _("Maintenance can be announced for {days} days ahead at most.").format(
                days=LONGEST_AHEAD.days
            ),
            status=400,
        )
    announced = Maintenance(
        id=f"m-{desk.new_id().removeprefix('l-')}",
        place=wanted.place,
        name=wanted.name,
        start=start,
        end=wanted.end,
        reason=reason,
        at=now,
        by=actor.name,
    )
    body: dict[str, object] = {"v": 1, "maintenance": announced.model_dump(mode="json")}
    recorded(desk, Event(kind=ANNOUNCE, at=now, actor=actor, body={**body, "reason": reason}))
    return sheet(desk, now=now)


def call_off(
    desk: Desk, maintenance_id: str, *, reason: str, actor: Actor, now: datetime
) -> MaintenanceSheet:
    """Call it off, or end it early; notices that it gave are taken back in the next round.

    Raises
    ------
    RefusedError
        When there is none of that id, or it is over.
    """
    present = desk.outages.maintenance.get(maintenance_id)
    if present is None or present.end <= now:
        raise RefusedError(
            "no-such-maintenance",
            _("There is no maintenance {id} that is announced and not over.").format(
                id=repr(maintenance_id[:80])
            ),
            status=404,
        )
    body: dict[str, object] = {"v": 1, "id": maintenance_id, "reason": reason}
    recorded(desk, Event(kind=CALL_OFF, at=now, actor=actor, body=body))
    return sheet(desk, now=now)


def sheet(desk: Desk, *, now: datetime) -> MaintenanceSheet:
    """List what is announced and not over."""
    policy = desk.book.known
    return MaintenanceSheet(
        at=now,
        timezone=policy.timezone if policy is not None else "UTC",
        announced=desk.outages.announced(now),
    )
