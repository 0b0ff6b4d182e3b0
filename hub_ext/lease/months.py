"""Months on the books: what must be true before one closes, what was closed, what is corrected."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .usage import Amount
from .words import LeaseId, ProjectName, ShortText, TeamName, Value


class TeamSum(Value):
    """What one team was charged, by currency; `(site)` and `(waived)` are the site's own."""

    team: TeamName
    amounts: tuple[Amount, ...]


class ClosedMonth(Value):
    """A month that is closed for good: [start, end), its sums, and a hash over its charges.

    `digest` is sha256 over the charges that overlap the month, so that a changed one is found.
    """

    name: ShortText
    """As people write it: "2026-11"."""
    timezone: ShortText
    start: AwareDatetime
    end: AwareDatetime
    at: AwareDatetime
    by: ShortText
    reason: str
    teams: tuple[TeamSum, ...]
    amounts: tuple[Amount, ...]
    lines: int
    unpriced_s: int
    digest: ShortText


class MonthCheck(Value):
    """One line of the list that is gone through before a month closes."""

    code: ShortText
    ok: bool
    blocks: bool
    """Whether the month cannot close while it is not ok; else it is told."""
    words: str


class MonthReview(Value):
    """The month that closes next, as it stands now."""

    name: ShortText
    start: AwareDatetime
    end: AwareDatetime
    checks: tuple[MonthCheck, ...]
    teams: tuple[TeamSum, ...]
    amounts: tuple[Amount, ...]
    lines: int

    @property
    def ready(self) -> bool:
        """Whether nothing stands in the way."""
        return all(one.ok or not one.blocks for one in self.checks)


class MonthSheet(Value):
    """`GET months`: closed ones, newest first, and the one that is next; None before a charge."""

    timezone: ShortText
    closed: tuple[ClosedMonth, ...]
    following: MonthReview | None


class CorrectionWish(Value):
    """Which charge is wrong, and what it should have been; what is left away stays.

    `lease_id` and `start` name the line as exports and the lease's page show it.
    """

    lease_id: LeaseId
    start: AwareDatetime
    team: TeamName | None = None
    project: ProjectName | None = None
    price_micro_per_hour: Annotated[int, Field(ge=0)] | None = None
    waive: bool = False
    """Nobody pays: the site bears it."""


class CorrectionLine(Value):
    """One of the charges that a correction is made of; reversals are negative."""

    team: TeamName
    project: ProjectName | None
    amount_micro: int
    currency: ShortText


class Correction(Value):
    """What was put on the books: reversals of what stood there, and what takes their place."""

    lease_id: LeaseId
    start: AwareDatetime
    month: ShortText
    """The month that the corrected charge began in."""
    closed: bool
    """Whether that month was closed: the correction stands in the open one."""
    lines: tuple[CorrectionLine, ...]
    at: AwareDatetime
    by: ShortText
    reason: str
