"""What was held and did no work, in time and in money, and what stopping idle servers saved."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .usage import Amount
from .words import ShortText, Value

WasteKind = Literal["never_used", "idle", "hoarded", "notice", "reserved_unused", "queue"]
"""No time is in two kinds. `never_used`: measured, and no GPU of the lease was ever used.
`idle`: the GPU computed nothing and its memory was empty. `hoarded`: it computed nothing and its
memory was held. `notice`: idle time between the announcement of a stop and the stop.
`reserved_unused`: kept for a reservation and used by no server. `queue`: held for a request that
waited, until its server started or nobody came; nobody is charged for it."""

WasteDimension = Literal["team", "project", "user", "profile", "pool", "model", "month"]

Count = Annotated[int, Field(ge=0)]


class WasteRow(Value):
    """One kind of waste of one group. `unit_s` is units x seconds; 840 units are one GPU.

    `amounts` is what was charged for that time, and for `queue` what it would have cost. Time that
    had no price is in `unpriced_unit_s` and in no amount.
    """

    names: dict[WasteDimension, str | None]
    kind: WasteKind
    leases: Count
    unit_s: Count
    amounts: tuple[Amount, ...] = ()
    unpriced_unit_s: Count = 0


class HeldRow(Value):
    """What the same group held and was charged in all, and how much of the time was measured.

    Time that nobody measured is unknown: it is in no kind of waste.
    """

    names: dict[WasteDimension, str | None]
    leases: Count
    unit_s: Count
    measured_unit_s: Count
    amounts: tuple[Amount, ...] = ()


class SavedRow(Value):
    """An estimate of what stopping idle servers saved a group, by `WasteSheet.saved_rule`."""

    names: dict[WasteDimension, str | None]
    leases: Count
    unit_s: Count
    amounts: tuple[Amount, ...] = ()
    unpriced_unit_s: Count = 0


class WasteSheet(Value):
    """`GET waste`: [start, end) as of `as_of`, by the dimensions that were asked for.

    `rows`, `held` and `saved` are dearest first; `totals` has one row a kind for all together.
    """

    scope: ShortText
    start: AwareDatetime
    end: AwareDatetime
    as_of: AwareDatetime
    currency: ShortText
    by: tuple[WasteDimension, ...]
    rows: tuple[WasteRow, ...]
    totals: tuple[WasteRow, ...]
    held: tuple[HeldRow, ...]
    held_total: HeldRow
    saved: tuple[SavedRow, ...]
    saved_total: SavedRow
    saved_rule: str
