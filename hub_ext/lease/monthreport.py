"""One month of one team as a report: every sum of it comes from the same charges."""

from typing import Literal

from pydantic import AwareDatetime

from .spend import SpendRow
from .usage import Amount
from .words import ShortText, TeamName, Value


class MonthDay(Value):
    """What was charged on one day of the organisation's zone, by project; "" is no project."""

    day: ShortText
    amounts: dict[str, int]
    """Micro-units of the report's currency."""


class MonthReport(Value):
    """`GET teams/{team}/months/{month}`: [start, end) as of `as_of`.

    Each of `rows`, `people` and `detail` adds up to `total`; `days` add up to its amount in
    `currency`. `people` is empty and `detail` names none where the policy keeps them from leads.
    """

    team: TeamName
    month: ShortText
    """As people write it: "2026-11"."""
    timezone: ShortText
    start: AwareDatetime
    end: AwareDatetime
    as_of: AwareDatetime
    currency: ShortText
    state: Literal["open", "over", "closed"]
    """`open`: the month goes on; `over`: its books are not closed yet; `closed`: for good."""
    digest: ShortText = ""
    """Hash over the charges of a closed month."""
    people_shown: bool
    rows: tuple[SpendRow, ...]
    """By project, GPU model and flavor."""
    people: tuple[SpendRow, ...]
    detail: tuple[SpendRow, ...]
    """By project, model, flavor and person."""
    days: tuple[MonthDay, ...]
    total: SpendRow
    running: tuple[Amount, ...] = ()
    """What of the total is of leases that run still, and not on the books yet."""
    corrections: tuple[Amount, ...] = ()
    """What of the total corrects earlier charges."""
    unseen_ends: int = 0
    """Servers whose end nobody saw: charged until they were last seen, never longer."""
    before: tuple[Amount, ...] = ()
    """What the month before came to."""
