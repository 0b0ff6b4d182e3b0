"""How long people may keep their servers from being stopped as idle, and what leads grant beyond.

Values alone; `idle.keeping` reckons, `service.keeps` records.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .words import ShortText, TeamName, UserName, Value

KeepEnd = Literal["", "none", "server", "week", "lifetime"]
"""What lets a "keep" last no longer: nothing, no keep at all, one of its bounds, or its end."""


class KeepSheet(Value):
    """What one more "keep" of a server would do now, what it costs, and what there is left.

    Times in seconds of being kept, not of use. `week` is any seven days, of all servers of the
    person.
    """

    each_s: int
    adds_s: int
    """So much longer it would be kept; 0 where it cannot be."""
    until: AwareDatetime | None
    """Until when it would be kept then; None where it cannot be."""
    ends_by: KeepEnd
    """What bounds it, where that is less than `each_s`."""
    server_kept_s: int
    server_limit_s: int
    week_kept_s: int
    week_limit_s: int
    free_at: AwareDatetime | None = None
    """When the week has some again; None where it has some, or nothing comes back."""
    granted_s: int = 0
    """What a lead grants beyond the policy's limits; it is in both of them."""
    granted_until: AwareDatetime | None = None
    price_micro: int | None = None
    """Price of `adds_s`; None where it is not priced."""
    price_text: str
    """ "EUR 4.20", "not priced", or that it costs nothing."""
    words: str
    """Both limits in one sentence, or why it cannot be kept."""


class KeepGrant(Value):
    """A lead lets a person keep servers of the team for so much more, until a time.

    It adds to both limits, of a server and of a week. Of several for one person the newest holds.
    """

    id: ShortText
    team: TeamName
    user: UserName
    more_s: Annotated[int, Field(ge=0)]
    until: AwareDatetime
    reason: str
    at: AwareDatetime
    by: ShortText


class KeepGrantSheet(Value):
    """`GET teams/{team}/keeps`: grants that hold, the first to end first."""

    at: AwareDatetime
    timezone: ShortText
    team: TeamName
    grants: tuple[KeepGrant, ...]
