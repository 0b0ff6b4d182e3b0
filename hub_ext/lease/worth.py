"""Spend held against last month, against other GPU models, and against what came of it."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .spend import SpendRow
from .usage import Amount, Count
from .value import Outcome
from .words import LeaseId, ShortText, Value

Percent = Annotated[int, Field(ge=0, le=100)]


class Explained(Value):
    """Whose question a sheet answers: the window [start, end) as of `as_of`."""

    scope: ShortText
    start: AwareDatetime
    end: AwareDatetime
    as_of: AwareDatetime
    timezone: ShortText
    currency: ShortText


class Change(Value):
    """How what has the same names changed, in micro-units; the three parts add up to `change`.

    `price` is what the same hours cost more, `hours` what more hours cost at the former mean price
    of an hour, `mix` what dearer hours in place of cheaper ones cost. `words` name the largest.
    """

    names: dict[str, str | None]
    owners: tuple[ShortText, ...] = ()
    before_micro: int
    now_micro: int
    change_micro: int
    price_micro: int
    hours_micro: int
    mix_micro: int
    before_unit_s: Count
    now_unit_s: Count
    main: Literal["none", "price", "hours", "mix"]
    words: str = ""


class ChangeSheet(Explained):
    """`GET spend/changes`: the largest changes first; all of them add up to the total.

    A window that is not over is held against the same stretch of the one before.
    """

    before_start: AwareDatetime
    before_end: AwareDatetime
    rows: tuple[Change, ...]
    total: Change
    unpriced_s: Count = 0
    """Time in both windows that had no price, and is in no figure here."""


class ModelRow(Value):
    """One GPU model: what it was held and used for, and how long people waited for it.

    The median and the 95th percentile are of leases that were measured.
    """

    row: SpendRow
    measured_leases: Count = 0
    busy_p50_percent: Percent | None = None
    busy_p95_percent: Percent | None = None
    waits: Count = 0
    wait_p50_s: Count | None = None
    wait_p90_s: Count | None = None


class ModelSheet(Explained):
    """`GET spend/models`: GPU models compared, the dearest busy hour first; unknown ones last."""

    rows: tuple[ModelRow, ...]
    total: SpendRow


Why = Literal["long", "large", "dear", "not busy", "usual"]
"""Why a lease is among the dearest: beside the usual lease of the same scope."""


class Dear(Value):
    """One of the dearest leases, with what makes it so."""

    lease_id: LeaseId
    user: ShortText | None
    """None where the policy shows leads no figures of single people."""
    row: SpendRow
    open: bool
    outcome: Outcome | None = None
    has_purpose: bool = False
    idle_micro: int | None = None
    """What of its cost is for measured time that was not busy; None where nothing was measured."""
    share_percent: Percent
    """Of all that the window cost."""
    why: tuple[Why, ...]
    words: str


class DearSheet(Explained):
    """`GET spend/dearest`: the dearest leases of a window, in the policy's currency."""

    rows: tuple[Dear, ...]
    leases: Count
    """How many leases there were."""


class ValueRow(Value):
    """What has the same name, and what came of it."""

    row: SpendRow
    outcomes: dict[Outcome, Count]
    """Leases by what their owners say."""
    silent: Count
    """Leases of which nobody says what came."""
    per_useful: tuple[Amount, ...] = ()
    """All that was spent, over the useful leases; empty where none was."""


class ValueSheet(Explained):
    """`GET value`: spend by value class, task type and outcome."""

    classes: tuple[ValueRow, ...]
    tasks: tuple[ValueRow, ...]
    outcomes: tuple[SpendRow, ...]
    total: ValueRow
    without_purpose: SpendRow
    unlabelled_percent: Percent | None = None
    """Share of the GPU time without a task type; None where nothing was held."""


class OwnerCell(Value):
    """One pool and team in one month."""

    month: ShortText
    row: SpendRow


class OwnerRow(Value):
    """Who answers for what of a pool, month by month."""

    pool: ShortText | None
    team: ShortText | None
    owners: tuple[ShortText, ...]
    cells: tuple[OwnerCell, ...]
    """Months in which anything was held."""


class OwnerMap(Explained):
    """`GET spend/owners`: pool x team x month."""

    months: tuple[ShortText, ...]
    rows: tuple[OwnerRow, ...]
    total: SpendRow
