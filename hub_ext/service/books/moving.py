"""Quota that leads move between their team's projects: recorded, and put on top of the policy.

Moves are held in memory, made of the ledger's own events. It decides nothing about leases.
"""

from dataclasses import dataclass, field
from datetime import date, datetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, Event, MoveSheet, PoolName, ProjectName, QuotaMove, TeamName, Value
from ...ledger.store import Tx
from ...policy.model import Policy
from ...policy.moves import applied, obstacle, rows, share_rows, shares_on
from ...policy.prices import local_day

MOVED = "quota.moved"
"""Kind of the event of a move."""

_PAGE = 500


class WantedMove(Value):
    """Which share gives how many units to which; None is what the team has not shared out."""

    pool: PoolName
    from_project: ProjectName | None = None
    to_project: ProjectName | None = None
    units: int
    first_day: date | None = None
    until: date | None = None


@dataclass
class Moves:
    """Every move so far, and the policy with those of one day in it."""

    made: list[QuotaMove] = field(default_factory=list)
    read: bool = False
    _known: tuple[Policy, date, int, Policy] | None = None

    def load(self, tx: Tx) -> tuple[QuotaMove, ...]:
        """Read the ledger's moves once; later ones are added as they are made."""
        after = 0
        while not self.read:
            page = tx.events(kinds=(MOVED,), after=after, limit=_PAGE)
            self.made += [QuotaMove.model_validate(event.body["move"]) for _seq, event in page]
            self.read = len(page) < _PAGE
            after = page[-1][0] if page else after
        return tuple(self.made)

    def over(self, tx: Tx, policy: Policy, now: datetime) -> Policy:
        """Give the policy with the moves in its shares that hold today."""
        day = today(policy, now)
        moves = self.load(tx)
        seen = self._known
        if seen is not None and seen[0] is policy and seen[1:3] == (day, len(moves)):
            return seen[3]
        made = applied(policy, moves, day)
        self._known = (policy, day, len(moves), made)
        return made


def today(policy: Policy, now: datetime) -> date:
    """The day it is where the policy is at home."""
    return local_day(now, policy.timezone)


def sheet(tx: Tx, moves: Moves, policy: Policy, team: str, now: datetime) -> MoveSheet:
    """Show the shares of a team's projects and all of its moves."""
    day, made = today(policy, now), moves.load(tx)
    return MoveSheet(
        team=TeamName(team),
        day=day,
        shares=share_rows(policy, team, made, day),
        moves=rows(policy, team, made, day),
    )


def wished(
    policy: Policy, team: str, wanted: WantedMove, made: tuple[QuotaMove, ...], now: datetime
) -> tuple[date, date | None]:
    """Check a move that is wished for; return its first day and the day it ends.

    Raises
    ------
    RefusedError
        400 where it moves nothing or its days are wrong, 409 where the share has not so much then.
    """
    day = today(policy, now)
    first = wanted.first_day or day
    if wanted.from_project == wanted.to_project or wanted.units <= 0:
        raise RefusedError(
            "moves-nothing",
            _("A move takes some GPUs from one project and gives them to another. Name two."),
            status=400,
        )
    if first < day or (wanted.until is not None and wanted.until <= first):
        raise RefusedError(
            "bad-days",
            _("A move holds from today ({day}) or a later day on, and ends after that.").format(
                day=day.isoformat()
            ),
            figures={"today": day.isoformat()},
            status=400,
        )
    shares, _void = shares_on(policy, team, made, first)
    why = obstacle(policy, shares, as_move(team, wanted, first, now))
    if why:
        raise RefusedError(
            "cannot-move",
            _("This cannot be moved: {why}. Move less, or from another share.").format(why=why),
            figures={
                "has_units": shares.get((wanted.from_project, wanted.pool), 0),
                "units": wanted.units,
            },
        )
    return first, wanted.until


def as_move(team: str, wanted: WantedMove, first: date, now: datetime) -> QuotaMove:
    """Make a move of a wish, without an author."""
    return QuotaMove(
        id="q-new",
        team=TeamName(team),
        pool=wanted.pool,
        from_project=wanted.from_project,
        to_project=wanted.to_project,
        units=wanted.units,
        first_day=first,
        until=wanted.until,
        reason="",
        by="",
        at=now,
    )


def event_of(move: QuotaMove, actor: Actor) -> Event:
    """Write a move as the ledger keeps it."""
    body: dict[str, object] = {"v": 1, "move": move.model_dump(mode="json"), "reason": move.reason}
    return Event(kind=MOVED, at=move.at, actor=actor, body=body)
