"""Quota that a lead moves between the projects of a team, and how such moves stand."""

from datetime import date
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .words import PoolName, ProjectName, ShortText, TeamName, Value


class QuotaMove(Value):
    """One move: from a project's share to another's. None is what the team has not shared out.

    It holds from `first_day` on, and no longer on `until`; days are the policy's time zone's.
    """

    id: ShortText
    team: TeamName
    pool: PoolName
    from_project: ProjectName | None = None
    to_project: ProjectName | None = None
    units: Annotated[int, Field(gt=0)]
    first_day: date
    until: date | None = None
    reason: str
    by: ShortText
    at: AwareDatetime


class MoveRow(Value):
    """A move and how it stands today: `void` says in `words` what makes it impossible."""

    move: QuotaMove
    state: Literal["to come", "in force", "over", "void"]
    words: str = ""


class ShareRow(Value):
    """A project's share of a pool: by the policy, and with the moves of today."""

    project: ProjectName | None
    pool: PoolName
    policy_units: int
    units: int


class MoveSheet(Value):
    """`GET teams/{team}/moves`: shares of the team's projects, and every move, newest first."""

    team: TeamName
    day: date
    shares: tuple[ShareRow, ...] = ()
    moves: tuple[MoveRow, ...] = ()
