"""A team's month so far and to come, from its charges, its open leases and the site's past."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from ...budget import Period, Spending, month_name, months, used_by
from ...i18n import _
from ...lease import TeamName
from ...lease.budgets import BudgetRow
from ...lease.outlook import RunOut, TeamOutlook
from ...ledger.tally import Stretch
from ...policy.model import Policy
from ...policy.prices import day_start, local_day
from ...reports.burndown import BurnDown, Spent, burn_down
from ...reports.days import by_day
from ...reports.outlook import BACK, Days, Now, Outlook, outlook, runs_out, words
from ...units import instant_us
from ..books.budgetcosts import spending_of, unused_of
from ..books.desk import Desk, Turn
from . import budgetrows
from .pastdays import PastDays
from .usage import Scope, reckoned

_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)


class TeamMoney(NamedTuple):
    """A team's money at one instant: its outlook, its budgets, and how those for all go down."""

    outlook: TeamOutlook
    budgets: tuple[BudgetRow, ...]
    burns: tuple[BurnDown, ...]


def money_of(desk: Desk, past: PastDays, team: str, *, now: datetime) -> TeamMoney:
    """Say where the month of a team is going, and how its budgets stand; both are read once."""
    with desk.turn(now) as turn:
        policy = turn.policy
        month = next(months(policy.timezone, now, now + _INSTANT))
        spent, committed = _used(turn, policy, team, month)
        scope = Scope(f"team:{team}", teams=(team,))
        lines = reckoned(turn, scope, month.start - (BACK + 1) * _DAY, now)
        rows = budgetrows.of_teams(turn.budgets(policy), policy, (team,), desk.reached)
    # What is open is in the recent days alone; the books of those days are read with it.
    days = past.of_team(team) | by_day(lines, policy.timezone, policy.currency, now)
    errors = past.errors(policy, now)
    at = _now(policy, month.end, now)
    found = outlook(days, at, errors, spent=spent, committed=committed)
    own = tuple(_own(rows, policy))
    foretold = None if found.point is None else errors
    gone = () if foretold is None else tuple(_gone(own, policy, days, foretold, now))
    said = TeamOutlook(
        team=TeamName(team),
        month=month_name(now, policy.timezone),
        currency=policy.currency,
        spent_micro=found.spent,
        committed_micro=found.committed,
        point_micro=found.point,
        low_micro=found.low,
        high_micro=found.high,
        active_days=found.active_days,
        runs_out=gone,
        words=_words(found, policy.currency, gone),
        at=now,
    )
    burns = tuple(_burn(row, policy, days, foretold, now) for row in own)
    return TeamMoney(said, rows, burns)


def _own(rows: Iterable[BudgetRow], policy: Policy) -> Iterator[BudgetRow]:
    """Give the budgets that are for the whole team together, in the policy's currency."""
    for row in rows:
        if row.user is None and row.team is not None and row.currency == policy.currency:
            yield row


def _burn(
    row: BudgetRow, policy: Policy, days: Days, errors: list[int] | None, now: datetime
) -> BurnDown:
    stands = Spent(row.budget, row.amount_micro, Period(row.start, row.end), row.spent_micro)
    return burn_down(stands, row.currency, policy.timezone, days, errors, now)


def _used(turn: Turn, policy: Policy, team: str, month: Period) -> tuple[int, int]:
    """Give what the month has cost so far, and what runs will cost until its end."""
    stretch = Stretch(month.start, month.end, policy.currency)
    spent, committed = turn.tx.charged(stretch).of_team.get(team, 0), 0
    period = (instant_us(month.start), instant_us(month.end))
    for one in _spendings(turn, policy, team):
        used = used_by(one, period, instant_us(turn.now))
        spent, committed = spent + used.spent_micro, committed + used.committed_micro
    return spent, committed


def _spendings(turn: Turn, policy: Policy, team: str) -> Iterator[Spending]:
    for lease in turn.tx.leases():
        if lease.team == team and lease.holding:
            yield spending_of(policy, lease, turn.now)
    for one in turn.tx.reservations():
        if one.team == team and (kept := unused_of(policy, one)) is not None:
            yield kept


def _now(policy: Policy, end: datetime, now: datetime) -> Now:
    today = local_day(now, policy.timezone)
    begin = day_start(today, policy.timezone)
    over = (now - begin) * 1000 // (day_start(today + _DAY, policy.timezone) - begin)
    return Now(today, local_day(end - _INSTANT, policy.timezone), over)


def _gone(
    rows: Iterable[BudgetRow],
    policy: Policy,
    days: Days,
    errors: list[int],
    now: datetime,
) -> Iterator[RunOut]:
    for row in rows:
        left = max(0, row.amount_micro - row.spent_micro)
        found = runs_out(days, _now(policy, row.end, now), errors, left=left)
        if found is not None:
            yield RunOut(budget=row.budget, left_micro=left, first=found[0], last=found[1])


def _words(found: Outlook, currency: str, gone: tuple[RunOut, ...]) -> str:
    parts = [words(found, currency)]
    for one in gone:
        text = _("Budget {name} will be spent between {first} and {last}, if this goes on.")
        if one.first == one.last:
            text = _("Budget {name} will be spent on {first}, if this goes on.")
        parts.append(text.format(name=one.budget, first=one.first, last=one.last))
    return " ".join(parts)
