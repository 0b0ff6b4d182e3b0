"""What was spent in a window, told apart as somebody asks: charges, facts of leases and readings.

It reads and sums; whose spend may be asked for is for the caller to check.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from ...budget import month_name, months
from ...lease import LeaseId
from ...lease.spend import SpendDimension, SpendSheet
from ...policy.model import Policy
from ...reports.spend import OwnersOf, Part, Piece, pieces, rows
from ..books.desk import Desk
from .usage import Scope, reckoned


class Stretch(NamedTuple):
    """The window [start, end), in the words that asked for it."""

    words: str
    start: datetime
    end: datetime


def lacking(desk: Desk, scope: Scope, stretch: Stretch, *, now: datetime) -> tuple[LeaseId, ...]:
    """List the leases of which a report will tell and of which nothing was read yet."""
    with desk.turn(now) as turn:
        lines = reckoned(turn, scope, stretch.start, stretch.end)
        return desk.facts.lacking(turn.tx, (line.lease_id for line in lines))


def read_facts(desk: Desk, lease_ids: Collection[LeaseId], *, now: datetime) -> None:
    """Read some of them; whoever has many to read lets decisions come between."""
    with desk.turn(now) as turn:
        desk.facts.read(turn.tx, lease_ids, desk.book.known)


def spend(
    desk: Desk, scope: Scope, stretch: Stretch, by: tuple[SpendDimension, ...], *, now: datetime
) -> SpendSheet:
    """Sum up the window as of now, told apart by `by`.

    Raises
    ------
    RefusedError
        While no policy is in force.
    """
    policy = desk.book.policy
    found = gathered(desk, scope, stretch, monthly="month" in by, now=now)
    made, total = rows(found, by, owners_of(policy, scope))
    return SpendSheet(
        scope=scope.name,
        window=stretch.words,
        start=stretch.start,
        end=stretch.end,
        as_of=now,
        timezone=policy.timezone,
        currency=policy.currency,
        aggregate=by,
        rows=made,
        total=total,
        all_rows=len(made),
    )


def gathered(
    desk: Desk, scope: Scope, stretch: Stretch, *, monthly: bool = False, now: datetime
) -> tuple[Piece, ...]:
    """Cut all charges of a window into pieces, with facts and use.

    Raises
    ------
    RefusedError
        While no policy is in force.
    """
    with desk.turn(now) as turn:
        policy = desk.book.policy
        lines = reckoned(turn, scope, stretch.start, stretch.end)
        facts = desk.facts.of(turn.tx, (line.lease_id for line in lines), policy)
    return tuple(pieces(lines, facts, parts_of(desk, policy, stretch, monthly=monthly)))


def parts_of(desk: Desk, policy: Policy, stretch: Stretch, *, monthly: bool) -> tuple[Part, ...]:
    """Cut a window at the months of the organisation, where months are told apart."""
    start, end = stretch.start, stretch.end
    if not monthly:
        return (Part(start, end, desk.samples.used(start, end)),)
    found = []
    for month in months(policy.timezone, start, end):
        first, last = max(start, month.start), min(end, month.end)
        name = month_name(month.start, policy.timezone)
        found.append(Part(first, last, desk.samples.used(first, last), name))
    return tuple(found)


def owners_of(policy: Policy, scope: Scope) -> OwnersOf:
    """Make the function that says who answers: a project's owner, else its team's leads.

    A person answers for what is theirs; what names no team belongs to the scope's teams.
    """

    def owners(names: Mapping[str, str | None]) -> tuple[str, ...]:
        if scope.user is not None:
            return (scope.user,)
        team = names.get("team")
        teams = (team,) if team is not None else scope.teams or ()
        if project := policy.projects.get(names.get("project") or ""):
            return (project.owner,) if project.owner else _leads(policy, (project.team,))
        return _leads(policy, teams)

    return owners


def _leads(policy: Policy, teams: Iterable[str]) -> tuple[str, ...]:
    known = (policy.teams[team].leads for team in teams if team in policy.teams)
    return tuple(dict.fromkeys(lead for leads in known for lead in leads))
