"""Where all that is installed went: held, the site's own, out of service, and held by nobody."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .usage import Amount
from .words import PoolName, ShortText, Value

Count = Annotated[int, Field(ge=0)]


class FleetRow(Value):
    """One pool, or all together where `pool` is None. Times are units x seconds; 840 are one GPU.

    installed + beyond = held + site + out + unallocated, exactly. `beyond` is what leases held that
    began before the policy took their devices away. `unallocated_amounts` is what the time that
    nobody held would have cost, at the mean of its pool's prices for all that is installed;
    `unallocated_unpriced_unit_s` of it had no price and is in no amount.
    """

    pool: PoolName | None
    model: ShortText | None
    installed_unit_s: Count
    held_unit_s: Count
    """Charged to teams."""
    site_unit_s: Count
    """Held and paid by the site: devices at fault, stops that took too long."""
    out_unit_s: Count
    """Out of service, drained or in maintenance, and held by nobody."""
    unallocated_unit_s: Count
    beyond_unit_s: Count = 0
    charged: tuple[Amount, ...] = ()
    """What teams were charged for it: recovered of its cost."""
    unallocated_amounts: tuple[Amount, ...] = ()
    unallocated_unpriced_unit_s: Count = 0


class FleetSheet(Value):
    """`GET fleet`: [start, end), or until `as_of` where that is earlier.

    `difference` says what does not add up; the figures are not to be believed then.
    """

    start: AwareDatetime
    end: AwareDatetime
    as_of: AwareDatetime
    currency: ShortText
    rows: tuple[FleetRow, ...]
    total: FleetRow
    difference: str = ""
