"""Budgets: how much money a team, a project or each of its people may spend, and what follows."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from ...lease.budgets import BudgetAct
from ..words import Count, Day, Flag, Gpus, Name, Part, Price, Span


class BudgetStep(Part):
    """What follows once so much of a budget is spent."""

    at: Annotated[Count, Field(le=1000)]
    """Percent of the amount that is spent. A budget that is not `hard` can pass 100."""
    act: BudgetAct
    """`tell`: who runs a server with a GPU is told; `guaranteed_only`: nothing new starts that
    would borrow; `small_only`: nothing new starts that takes more than `gpus`; `no_new`: nothing
    new with a GPU starts until the period ends, and nothing that runs is extended; `stop`: what
    runs is stopped too, after `notice`."""
    gpus: Gpus | None = None
    """With `small_only`: what a server may take at most, in GPUs, for example "0.25"."""
    until: Day | None = None
    """First day on which the step holds no more, in the policy's time zone. Absent: it holds until
    the period ends."""


class Term(Part):
    """A stretch of days that has an amount of its own, such as that of a grant."""

    from_: Day = Field(alias="from")
    """First day, in the policy's time zone."""
    until: Day
    """First day on which it is over."""


class Budget(Part):
    """An amount for a team or a project, or for each person in it, and what follows as it goes."""

    team: Name | None = None
    """The team whose charges count. Give this or `project`."""
    project: Name | None = None
    """The project whose charges count."""
    each: Literal["person"] | None = None
    """`person`: everybody in it has this amount of their own; absent: it is for all together."""
    amount: Price
    """Money for one period, in the policy's currency, for example "1500.00"."""
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]{2,9}$")] | None = None
    """Currency of `amount`. Where it is written it has to be the policy's, so that a change of
    that is not taken for a change of the amount."""
    period: Literal["month"] | Term = "month"
    """`month`: each calendar month, in the policy's time zone; or one term with its days.
    Default `month`."""
    hard: Flag = False
    """Whether what runs can never cost more than is there: the price of the whole lifetime is
    taken from the budget at the start, and what is not used comes back. Default false: what is
    spent counts, and a server that runs may go beyond it."""
    steps: tuple[BudgetStep, ...] = ()
    """What follows as it is spent, in rising order. Each is told once a period."""
    notice: Span = timedelta(minutes=30)
    """From the announcement to the stop, where a step stops servers. Default 30m."""

    @model_validator(mode="after")
    def _one_holder(self) -> "Budget":
        if (self.team is None) == (self.project is None):
            raise ValueError("a budget is for one; give either `team` or `project`")
        return self
