"""What was held and charged in a window: postings of closed leases, reckoning of open ones.

Charges come from the ledger alone; samples only say how much of the time was really used.
"""

from dataclasses import dataclass
from datetime import datetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import OpenLease, Posting, Usage
from ...metering import NO_TEAMS, SITE_USER
from ...reports import conservation, tables
from ..books.desk import Desk, Turn
from ..leasing.closing import charges
from .reservedcharges import unused_lines


@dataclass(frozen=True)
class Scope:
    """Whose usage: one person's, some teams', or everybody's where both are None."""

    name: str
    user: str | None = None
    teams: tuple[str, ...] | None = None


def usage(desk: Desk, scope: Scope, start: datetime, end: datetime, *, now: datetime) -> Usage:
    """Sum up [start, end) as of now."""
    with desk.turn(now) as turn:
        lines = reckoned(turn, scope, start, end)
        opened = frozenset(lease.id for lease in turn.tx.leases())
    policy = desk.book.known
    asked = tables.Asked(scope.name, start, end, now, policy.currency if policy else "")
    made = tables.usage(lines, desk.samples.used(start, end), asked, running=opened)
    agreeing(conservation.within(made))
    return made


def agreeing(difference: str) -> None:
    """Let a report through whose sums agree.

    Raises
    ------
    RefusedError
        With the difference: figures that do not add up are shown to nobody.
    """
    if difference:
        raise RefusedError(
            conservation.NOT_TO_BE_BELIEVED,
            _(
                "This report does not add up, so it is not shown: {difference}. Ask an "
                "administrator to run gpu-commons ledger verify."
            ).format(difference=difference),
            figures={"difference": difference},
        )


def reckoned(turn: Turn, scope: Scope, start: datetime, end: datetime) -> list[Posting]:
    """List charges that are posted, and those that would be posted now for what still runs.

    Raises
    ------
    RefusedError
        Where the posted ones are not what the ledger itself adds up to.
    """
    desk, tx, now = turn.desk, turn.tx, turn.now
    posted = tx.postings(start=start, end=end, user=scope.user, teams=scope.teams)
    books = tx.sums(start=start, end=end, user=scope.user, teams=scope.teams)
    agreeing(conservation.disagreement(posted, books, start, end))
    running = (
        line
        for lease in tx.leases()
        if lease.holding and _may_be_inside(scope, lease)
        for line in charges(desk, lease, now)
        if _inside(scope, line)
    )
    kept = (
        line
        for one in tx.reservations()
        for line in unused_lines(desk, one, now)
        if _inside(scope, line)
    )
    return [*posted, *running, *kept]


def _may_be_inside(scope: Scope, lease: OpenLease) -> bool:
    """Whether a lease can have a line that is inside: its own, or one that the site bears."""
    if scope.user is not None and scope.user not in {lease.key.user, SITE_USER}:
        return False
    return scope.teams is None or not NO_TEAMS.union({lease.team}).isdisjoint(scope.teams)


def _inside(scope: Scope, line: Posting) -> bool:
    if scope.user is not None and line.user != scope.user:
        return False
    return scope.teams is None or line.team in scope.teams
