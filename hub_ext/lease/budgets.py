"""A budget as a decision meets it, and as people are shown it."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, Literal, NamedTuple

from pydantic import AwareDatetime, SkipValidation

from .words import ProjectName, ShortText, TeamName, UserName, Value

BudgetAct = Literal["tell", "guaranteed_only", "small_only", "no_new", "stop"]
"""What a step of a budget does, from the mildest to the strictest."""

ACTS: tuple[BudgetAct, ...] = ("tell", "guaranteed_only", "small_only", "no_new", "stop")

ALL = ""
"""Stands for a person where a budget is for all together."""


class Used(NamedTuple):
    """Money of a budget that is spent, and what open leases cost from now to their ends."""

    spent_micro: int = 0
    committed_micro: int = 0


class StepTaken(Value):
    """A step of a budget: from which percent on, and what follows.

    `most_units` is what may still start where only small profiles may; `until` is when the step is
    over, where that is before the period is.
    """

    at_percent: int
    act: BudgetAct
    most_units: int | None = None
    until: AwareDatetime | None = None


class Budgeted(Value):
    """One budget in one of its periods.

    `posted` is on the books, `running` is of open leases beside it; both are by person where it
    is for `each`, else under `ALL`. `committed` is by open lease.
    """

    name: ShortText
    team: TeamName | None
    project: ProjectName | None
    each: bool
    amount_micro: int
    currency: ShortText
    hard: bool
    steps: tuple[StepTaken, ...]
    start: AwareDatetime
    end: AwareDatetime
    posted: Annotated[Mapping[str, int], SkipValidation] = {}
    running: Annotated[Mapping[str, Used], SkipValidation] = {}
    committed: Annotated[Mapping[str, int], SkipValidation] = {}
    payers: Annotated[AbstractSet[str], SkipValidation] = frozenset()
    """Everybody whose charges or open leases are in it."""
    rounded: bool = False
    """Whether what is used was rounded for whoever looks."""

    def of(self, user: str) -> Used:
        """What a person has used of their own, or all together."""
        holder = user if self.each else ALL
        open_ones = self.running.get(holder, Used())
        return open_ones._replace(spent_micro=open_ones.spent_micro + self.posted.get(holder, 0))

    @property
    def holders(self) -> tuple[str, ...]:
        """Everybody who has used some of their own; `ALL` where it is for all together."""
        return tuple(sorted({*self.posted, *self.running})) if self.each else (ALL,)


class BudgetRow(Value):
    """One budget in its present period, for one person where it is for each.

    `left_micro` is what neither is spent nor committed, never below 0. Where it is `rounded`, all
    figures of use are whole tenths of the amount: a colleague could be told from exact ones.
    """

    budget: ShortText
    team: TeamName | None
    project: ProjectName | None
    user: UserName | None
    currency: ShortText
    amount_micro: int
    spent_micro: int
    committed_micro: int
    left_micro: int
    percent: int
    hard: bool
    act: BudgetAct | None
    """The strictest act that is reached; None before the first."""
    reached_at: AwareDatetime | None = None
    """When that was reached, where it is on the record."""
    next_step: StepTaken | None
    start: AwareDatetime
    end: AwareDatetime
    in_force: Literal["observe", "advise", "enforce"]
    rounded: bool = False
