"""The site's money as its page shows it: a year by team, months and how they close, prices, acts.

It reads alone; whoever asks is an admin, which the page has checked.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ...budget import Period, month_name, months
from ...lease import Event, Posting
from ...lease.months import ClosedMonth, MonthReview
from ...ledger.months import MonthSum
from ...metering import clip
from ...policy.model import Policy
from ...reports.repricing import Wish
from ..books.desk import Desk, Turn
from ..leasing.closing import charges
from . import monthclosing

MONTHS = 12
"""Months of the table, the one that goes on included."""

MOST_ACTS = 60
"""Acts that are listed; all are in the ledger."""

MOST_CORRECTIONS = 20

ACTS = (
    "policy.applied",
    "policy.refused",
    "policy.waiting",
    "month.closed",
    "quota.moved",
    "admin.close",
    "admin.force_release",
    "admin.grant",
    "admin.move",
    "admin.prolong",
    "admin.drain",
    "admin.lift",
    "admin.announce",
    "admin.call_off",
    "admin.exempt",
    "admin.exempt_end",
    "admin.idle_switch_on",
    "admin.idle_release",
    "admin.anomaly",
)
"""Kinds of event that somebody's hand made, or that changed what holds."""

_INSTANT = timedelta(microseconds=1)


class SiteMoney(NamedTuple):
    """What the page is made from, as of `now`; `sums` has one entry a month."""

    policy: Policy
    now: datetime
    months: tuple[Period, ...]
    sums: tuple[tuple[MonthSum, ...], ...]
    running: tuple[Posting, ...]
    """What runs and is not on the books yet, as it would be charged now."""
    closed: tuple[ClosedMonth, ...]
    review: MonthReview | None
    """The month that closes next, where it was asked for."""
    corrections: tuple[Posting, ...]
    acts: tuple[tuple[int, Event], ...]
    repriced: tuple[Posting, ...] | None
    """Charges of the last month that is over, where another price is tried."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the months."""
        return tuple(month_name(one.start, self.policy.timezone) for one in self.months)


def read(
    desk: Desk, kinds: Sequence[str], wish: Wish | None, *, review: bool, now: datetime
) -> SiteMoney:
    """Read it.

    Parameters
    ----------
    kinds
        Of `ACTS`, those that are listed.
    wish
        Another price that is tried, or None.
    review
        Whether the month that closes next is looked through; that reads all of it.

    Raises
    ------
    RefusedError
        While no policy is in force.
    """
    policy = desk.book.policy
    year = _year(policy, now)
    with desk.turn(now) as turn:
        return SiteMoney(
            policy=policy,
            now=now,
            months=year,
            sums=turn.tx.by_month(year),
            running=tuple(_running(turn, year[0].start)),
            closed=turn.tx.months()[::-1],
            review=monthclosing.following(turn, policy) if review else None,
            corrections=turn.tx.corrections(MOST_CORRECTIONS),
            acts=turn.tx.events(kinds=kinds, limit=MOST_ACTS, newest=True),
            repriced=None if wish is None else _of_pool(turn, wish, year[-2]),
        )


def _year(policy: Policy, now: datetime) -> tuple[Period, ...]:
    known = list(months(policy.timezone, now - timedelta(days=31 * MONTHS), now + _INSTANT))
    return tuple(known[-MONTHS:])


def _running(turn: Turn, since: datetime) -> list[Posting]:
    lines = (
        clip(line, since, turn.now)
        for lease in turn.tx.leases()
        if lease.holding
        for line in charges(turn.desk, lease, turn.now)
    )
    return [line for line in lines if line is not None]


def _of_pool(turn: Turn, wish: Wish, month: Period) -> tuple[Posting, ...]:
    lines = turn.tx.postings(start=month.start, end=month.end)
    return tuple(line for line in lines if line.pool == wish.pool)
