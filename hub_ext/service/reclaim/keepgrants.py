"""Leads let a person of their team keep servers for longer, with a reason and an end."""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AwareDatetime, Field

from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Event, TeamName, UserName, Value
from ...lease.keeping import KeepGrant, KeepGrantSheet
from ..basis.refusals import named
from ..books.desk import Desk
from ..books.keepbook import GRANTED

LONGEST = timedelta(days=31)
"""How long a grant holds at most; what shall hold for longer belongs into the policy."""

MOST_S = 7 * 86400
"""What a grant adds at most: a server that is kept for a whole week."""


class KeepWish(Value):
    """Who may keep servers of the team for how much more, and until when; 0 ends a grant."""

    user: UserName
    more_s: Annotated[int, Field(ge=0, le=MOST_S, strict=True)]
    until: AwareDatetime


def grant(
    desk: Desk, team: str, wanted: KeepWish, *, reason: str, actor: Actor, now: datetime
) -> KeepGrantSheet:
    """Grant it; it takes the place of what the team granted that person before.

    Raises
    ------
    RefusedError
        When there is no such team, or the end is over or too far.
    """
    _known(desk, team)
    if not now < wanted.until <= now + LONGEST:
        raise RefusedError(
            "bad-time",
            _("A grant has to end later than now, and within {days} days.").format(
                days=LONGEST.days
            ),
            status=400,
        )
    given = KeepGrant(
        id=f"k-{desk.new_id().removeprefix('l-')}",
        team=TeamName(team),
        user=wanted.user,
        more_s=wanted.more_s,
        until=wanted.until,
        reason=reason,
        at=now,
        by=actor.name,
    )
    body: dict[str, object] = {"v": 1, "grant": given.model_dump(mode="json"), "reason": reason}
    event = Event(kind=GRANTED, at=now, actor=actor, body=body)
    with desk.turn(now, actor) as turn:
        desk.keeps.load(turn.tx, now)
        turn.tx.append(event)
        theirs = {
            one.key
            for one in turn.tx.leases()
            if one.team == given.team and one.key.user == given.user
        }
    # Only what is on the record holds.
    desk.keeps.take(event)
    desk.changed |= theirs
    return sheet(desk, team, now=now)


def sheet(desk: Desk, team: str, *, now: datetime) -> KeepGrantSheet:
    """List a team's grants that hold; RefusedError where there is no such team."""
    _known(desk, team)
    with desk.turn(now) as turn:
        holding = desk.keeps.holding(turn.tx, TeamName(team), now)
    zone = desk.book.policy.timezone
    return KeepGrantSheet(at=now, timezone=zone, team=TeamName(team), grants=holding)


def _known(desk: Desk, team: str) -> None:
    policy = desk.book.policy
    if team not in policy.teams:
        raise named("no-such-team", _("team"), team, policy.teams)
