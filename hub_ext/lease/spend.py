"""Spend told apart by whatever is asked: rows with their cost, their owner and their use."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .usage import Amount, Count
from .words import ShortText, Value

SpendDimension = Literal[
    "team",
    "project",
    "user",
    "profile",
    "pool",
    "flavor",
    "model",
    "standing",
    "taskType",
    "valueClass",
    "outcome",
    "purpose",
    "month",
    "lease",
]
"""What spend can be told apart by, as `aggregate` names it."""


class SpendRow(Value):
    """What has the same names: held, charged, and really used.

    `names` has one entry a dimension; None is unlabelled. `unit_s` is units x seconds; divide by
    840 for GPU-seconds. What has no price is counted in `unpriced_s` and is in no amount.
    """

    names: dict[str, str | None]
    owners: tuple[ShortText, ...] = ()
    """Who answers for it: a project's owner, a team's leads, the person; empty if nobody does."""
    leases: Count
    held_s: Count
    unit_s: Count
    amounts: tuple[Amount, ...] = ()
    unpriced_s: Count = 0
    unpriced_leases: Count = 0
    measured_unit_s: Count = 0
    """Of `unit_s`, for how much there are readings."""
    busy_unit_s: Count = 0
    """Of that, what was busy: utilisation x time."""
    utilised_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """None is unknown, or has no owner or no cost to stand beside it; `unsaid` tells which."""
    per_busy_hour: tuple[Amount, ...] = ()
    """Cost of one busy GPU-hour: of the time that was measured, over what of it was busy."""
    unsaid: Literal["", "not measured", "no owner", "no cost"] = ""
    """Why no utilisation is told."""


class SpendSheet(Value):
    """`GET spend`: the window [start, end) as of `as_of`, open leases included until then.

    `next_cursor` fetches the rows that follow, of this very answer; None after the last.
    """

    scope: ShortText
    window: ShortText
    start: AwareDatetime
    end: AwareDatetime
    as_of: AwareDatetime
    timezone: ShortText
    currency: ShortText
    aggregate: tuple[SpendDimension, ...]
    rows: tuple[SpendRow, ...]
    total: SpendRow
    all_rows: Count
    """How many rows there are on all pages."""
    next_cursor: str | None = None
