"""Where a team's month is going: what is spent, what is agreed, what is likely beside it."""

from datetime import date

from pydantic import AwareDatetime

from .words import ShortText, TeamName, Value


class RunOut(Value):
    """Between which days a budget will be gone if its team goes on so."""

    budget: ShortText
    left_micro: int
    """What is not spent yet."""
    first: date
    last: date


class TeamOutlook(Value):
    """A team's month as it will likely end. Amounts are micro-units of `currency`.

    `committed_micro` is what runs now will cost until its agreed end or the month's. `point_micro`
    is of the whole month and None before ten days with a charge; `low_micro` and `high_micro` are
    None until there is enough of the site's own past to make a band from.
    """

    team: TeamName
    month: ShortText
    """As people write it: "2026-11"."""
    currency: ShortText
    spent_micro: int
    committed_micro: int
    point_micro: int | None
    low_micro: int | None
    high_micro: int | None
    active_days: int
    runs_out: tuple[RunOut, ...] = ()
    words: str
    at: AwareDatetime
