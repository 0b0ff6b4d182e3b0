"""Exemptions from the idle rules, given and ended by administrators, each an event.

What is exempt is judged all the same, and the verdict says why nothing follows from it.
"""

from datetime import datetime, timedelta

from pydantic import AwareDatetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Event, Exemption, ExemptionSheet, LeaseId, ShortText, Subject, Value
from ..basis.refusals import lease_over, named
from ..books.desk import Desk
from ..books.exemptions import END, EXEMPT

LONGEST = timedelta(days=366)
"""How long an exemption may last; a rule that shall not hold for longer is for the policy."""


class ExemptionWish(Value):
    """Who or what is exempt, and until when."""

    subject: Subject
    name: ShortText
    until: AwareDatetime


def exempt(
    desk: Desk, wanted: ExemptionWish, *, reason: str, actor: Actor, now: datetime
) -> ExemptionSheet:
    """Exempt a lease, person, team or project; a notice for idleness is taken back soon.

    Raises
    ------
    RefusedError
        When there is no such open lease, team or project, or the time is over or too far.
    """
    _known(desk, wanted, now)
    if not now < wanted.until <= now + LONGEST:
        raise RefusedError(
            "bad-time",
            _("An exemption has to end later than now, and within {days} days.").format(
                days=LONGEST.days
            ),
            status=400,
        )
    given = Exemption(
        id=f"x-{desk.new_id().removeprefix('l-')}",
        subject=wanted.subject,
        name=wanted.name,
        until=wanted.until,
        reason=reason,
        at=now,
        by=actor.name,
    )
    body = {"v": 1, "exemption": given.model_dump(mode="json"), "reason": reason}
    _record(desk, Event(kind=EXEMPT, at=now, actor=actor, body=body), given)
    return sheet(desk, now=now)


def end(
    desk: Desk, exemption_id: str, *, reason: str, actor: Actor, now: datetime
) -> ExemptionSheet:
    """End an exemption before its time.

    Raises
    ------
    RefusedError
        When there is none of that id that holds.
    """
    present = desk.exemptions.known.get(exemption_id)
    if present is None or present.until <= now:
        raise RefusedError(
            "no-such-exemption",
            _("There is no exemption {id} that holds.").format(id=repr(exemption_id[:80])),
            status=404,
        )
    body = {"v": 1, "id": exemption_id, "reason": reason}
    _record(desk, Event(kind=END, at=now, actor=actor, body=body), present)
    return sheet(desk, now=now)


def sheet(desk: Desk, *, now: datetime) -> ExemptionSheet:
    """List those that hold."""
    policy = desk.book.known
    return ExemptionSheet(
        at=now,
        timezone=policy.timezone if policy is not None else "UTC",
        exemptions=desk.exemptions.holding(now),
    )


def _known(desk: Desk, wanted: ExemptionWish, now: datetime) -> None:
    policy = desk.book.policy
    match wanted.subject:
        case "lease":
            with desk.turn(now) as turn:
                lease = turn.found(LeaseId(wanted.name))
            if not lease.open:
                raise lease_over(lease)
        case "team" if wanted.name not in policy.teams:
            raise named("no-such-team", _("team"), wanted.name, policy.teams)
        case "project" if wanted.name not in policy.projects:
            raise named("no-such-project", _("project"), wanted.name, policy.projects)
        case _:
            # Whom the hub knows is not known here; people may come back.
            pass


def _record(desk: Desk, event: Event, of: Exemption) -> None:
    with desk.turn(event.at, event.actor) as turn:
        turn.tx.append(event)
        keys = {lease.key for lease in turn.tx.leases() if of.covers(lease)}
    # Only what is on the record holds.
    desk.exemptions.apply(event)
    desk.changed |= keys
