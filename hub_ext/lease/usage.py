"""What was held, really used and charged: the figures behind the usage pages and reports."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .words import (
    Cause,
    LeaseId,
    PoolName,
    ProfileName,
    ProjectName,
    ServerName,
    ShortText,
    Standing,
    TeamName,
    UserName,
    Value,
)

Count = Annotated[int, Field(ge=0)]


class Amount(Value):
    """Money in one currency. Amounts of two currencies are never added."""

    currency: ShortText
    micro: int


class UsageRow(Value):
    """One lease inside a window. `cause` is None while it is open.

    `amount_micro` is None where no price was in force for any of it; `unpriced_s` tells for how
    long none was. `utilised_percent` is the mean of `measured_s` seconds of readings, None without.
    """

    lease_id: LeaseId
    user: UserName
    server: ServerName
    team: TeamName
    project: ProjectName | None
    profile: ProfileName
    pool: PoolName | None
    flavor: ShortText
    standing: Standing
    units: Count
    start: AwareDatetime
    end: AwareDatetime
    held_s: Count
    amount_micro: int | None
    unpriced_s: Count
    utilised_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    measured_s: Count = 0
    cause: Cause | None = None
    open: bool = False
    currency: ShortText = ""
    """Of `amount_micro`."""


class UsageSum(Value):
    """All leases of one person for one project of one team; None in a name means all of them.

    `unit_s` is units x seconds held; divide by 840 for GPU-seconds. `amount_micro` is in the
    currency of the whole `Usage`; `amounts` has every currency.
    """

    team: TeamName | None
    project: ProjectName | None
    user: UserName | None
    leases: Count
    held_s: Count
    unit_s: Count
    amount_micro: int | None
    unpriced_s: Count
    utilised_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    measured_s: Count = 0
    profile: ProfileName | None = None
    amounts: tuple[Amount, ...] = ()
    """By currency, in the order of their codes; empty where nothing was priced."""
    unpriced_leases: Count = 0
    """How many leases had time without a price."""
    measured_unit_s: Count = 0
    """Of `unit_s`, for how much there are readings."""


class Usage(Value):
    """`GET usage`: the window [start, end) as of `as_of`, open leases included until then."""

    scope: ShortText
    start: AwareDatetime
    end: AwareDatetime
    as_of: AwareDatetime
    currency: ShortText
    rows: tuple[UsageRow, ...]
    sums: tuple[UsageSum, ...]
    total: UsageSum
