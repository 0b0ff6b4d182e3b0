"""Why the devices of a live lease are to be given up: their drain, or a fault of the device.

It gives no notice itself; the round that gives every other one asks here.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...admission.announced import maintenance_words
from ...i18n import _
from ...lease import Cause, OpenLease, Reason, local_text
from ..books.budgetclosure import BUDGET_SPENT
from ..books.desk import Desk


@dataclass(frozen=True)
class Closure:
    """Until when, and why, in words for the owner before and after the stop.

    `least` is the shortest notice for an owner who could not be told before.
    """

    ends_at: datetime
    reason: Reason
    ended: Reason
    least: timedelta = timedelta(0)
    cause: Cause = Cause.admin


BACK_IN_SERVICE = Reason(
    code="in-service",
    message=_("The server is not stopped: its devices stay in service."),
)

RESERVED = "reserved"
"""Code of a notice that borrowed GPUs are needed for a reservation."""

BY_HAND = "stop-by-hand"
"""Code of a notice that an administrator gave; the notice itself is the record of it."""

NOT_NEEDED = Reason(
    code="not-needed",
    message=_("The server is not stopped: its GPUs are not needed for a reservation any more."),
)

LATER = Reason(
    code="stopped-later",
    message=_("The server is not stopped as early as announced; it is told anew when."),
)


def of(desk: Desk, lease: OpenLease, *, now: datetime) -> Closure | None:
    """Find the closure of a lease: a fault first, then of drain and maintenance the earlier."""
    faulty = _faulty(desk, lease)
    if faulty is not None:
        return faulty
    every = (
        _by_hand(lease),
        _drained(desk, lease),
        _maintained(desk, lease, now),
        _reserved(desk, lease),
        _unpaid(desk, lease),
    )
    found = [one for one in every if one]
    return min(found, key=lambda one: one.ends_at, default=None)


def _faulty(desk: Desk, lease: OpenLease) -> Closure | None:
    policy = desk.book.known
    outages = [desk.outages.devices.get(device.id) for device in lease.devices]
    faulty = next((one for one in outages if one is not None and one.cause == "faulty"), None)
    if faulty is not None and policy is not None:
        return Closure(
            ends_at=faulty.at + policy.notice.lifetime,
            reason=Reason(
                code="device-faulty",
                message=_(
                    "A device of this server is out of service: {why}. Save your work and start "
                    "again; another device is given out then. From the first sign of the fault on "
                    "nothing is charged."
                ).format(why=faulty.words),
                figures={"device": faulty.device},
            ),
            ended=Reason(
                code="device-faulty",
                message=_(
                    "The server was stopped because its device is out of service: {why}. Start "
                    "it again; another device is given out then. From the first sign of the fault "
                    "on nothing was charged."
                ).format(why=faulty.words),
                figures={"device": faulty.device},
            ),
        )
    return None


def _drained(desk: Desk, lease: OpenLease) -> Closure | None:
    drain = desk.outages.drain_for(lease)
    if drain is None or (lease.ends_at is not None and lease.ends_at <= drain.ends_at):
        # Who ends before is not disturbed, as with maintenance.
        return None
    figures: dict[str, int | str] = {"place": drain.place, "name": drain.name}
    return Closure(
        ends_at=drain.ends_at,
        reason=Reason(
            code="drained",
            message=_(
                "Administrator {by} takes the devices of this server out of use: {why}. Save your "
                "work."
            ).format(by=drain.by, why=drain.reason),
            figures=figures,
        ),
        ended=Reason(
            code="drained",
            message=_(
                "The server was stopped because administrator {by} took its devices out of use: "
                "{why}. Start it again when they are back, or on other devices."
            ).format(by=drain.by, why=drain.reason),
            figures=figures,
        ),
    )


def _by_hand(lease: OpenLease) -> Closure | None:
    """A stop that an administrator announced for this server alone."""
    notice = lease.notice
    if notice is None or notice.reason.code != BY_HAND:
        return None
    return Closure(
        ends_at=notice.stops_at,
        reason=notice.reason,
        ended=Reason(
            code=BY_HAND,
            message=_(
                "Administrator {by} stopped the server: {why} Start it again when you need it."
            ).format(by=notice.reason.figures.get("by"), why=notice.reason.figures.get("why")),
            figures=notice.reason.figures,
        ),
    )


def _announced(lease: OpenLease, code: str) -> Closure | None:
    """Let stand what was announced, while nobody has looked since the governor's start."""
    notice = lease.notice
    if notice is None or notice.reason.code != code:
        return None
    return Closure(notice.stops_at, notice.reason, notice.reason, cause=notice.cause)


def _reserved(desk: Desk, lease: OpenLease) -> Closure | None:
    """A reservation that needs borrowed GPUs; its owner is not named."""
    if desk.draining is None:
        return _announced(lease, RESERVED)
    one, policy = desk.draining.get(lease.id), desk.book.known
    if one is None or policy is None or one.pool not in policy.pools:
        return None
    start = local_text(one.start, policy.timezone)
    figures: dict[str, int | str] = {"pool": one.pool, "reserved_from": start}
    return Closure(
        ends_at=one.start,
        cause=Cause.preempted,
        reason=Reason(
            code=RESERVED,
            message=_(
                "Pool {pool} is reserved from {start}, and this server runs on borrowed GPUs that "
                "are needed then. Save your work before that."
            ).format(pool=one.pool, start=start),
            figures=figures,
        ),
        ended=Reason(
            code=RESERVED,
            message=_(
                "The server was stopped because it ran on borrowed GPUs and pool {pool} is "
                "reserved from {start}. Start it again; it waits until GPUs are free."
            ).format(pool=one.pool, start=start),
            figures=figures,
        ),
        least=policy.pools[one.pool].notice,
    )


def _unpaid(desk: Desk, lease: OpenLease) -> Closure | None:
    """A budget that is spent so far that what it pays for is stopped."""
    if desk.spent is None:
        return _announced(lease, BUDGET_SPENT)
    spent = desk.spent.get(lease.id)
    if spent is None:
        return None
    return Closure(
        ends_at=spent.ends_at,
        cause=Cause.budget,
        reason=spent.announced,
        ended=spent.ended,
        least=spent.least,
    )


def _maintained(desk: Desk, lease: OpenLease, now: datetime) -> Closure | None:
    """Maintenance that a lease runs into; one that ends before it begins is not disturbed."""
    policy, first = desk.book.known, desk.outages.maintenance_for(lease, now)
    if first is None or policy is None:
        return None
    figures: dict[str, int | str] = {"place": first.place, "name": first.name, "id": first.id}
    announced = maintenance_words(first, policy.timezone)
    return Closure(
        ends_at=first.start,
        reason=Reason(
            code="maintenance",
            message=_("{announced} Save your work before that.").format(announced=announced),
            figures=figures,
        ),
        ended=Reason(
            code="maintenance",
            message=_(
                "The server was stopped for maintenance. {announced} Start it again on other "
                "devices, or after {end}."
            ).format(announced=announced, end=local_text(first.end, policy.timezone)),
            figures=figures,
        ),
        least=policy.notice.lifetime,
    )
