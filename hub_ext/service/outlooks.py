"""A team's month so far and to come, from its charges, its open leases and the site's past."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta

from ..budget import Period, Spending, month_name, months, used_by
from ..i18n import _
from ..lease import Posting, TeamName
from ..lease.budgets import BudgetRow
from ..lease.outlook import RunOut, TeamOutlook
from ..ledger.tally import Stretch
from ..metering import clip
from ..policy.model import Policy
from ..policy.prices import day_start, local_day
from ..reports.outlook import BACK, Now, Outlook, outlook, runs_out, words
from ..units import instant_us
from . import budgetrows
from .budgetcosts import spending_of, unused_of
from .desk import Desk, Turn
from .pastdays import PastDays
from .usage import Scope, reckoned

_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)


def of_team(desk: Desk, past: PastDays, team: str, *, now: datetime) -> TeamOutlook:
    """Say where the month of a team is going."""
    with desk.turn(now) as turn:
        policy = turn.policy
        month = next(months(policy.timezone, now, now + _INSTANT))
        spent, committed = _used(turn, policy, team, month)
        scope = Scope(f"team:{team}", teams=(team,))
        lines = reckoned(turn, scope, month.start - (BACK + 1) * _DAY, now)
        rows = budgetrows.of_teams(turn.budgets(policy), policy, (team,), desk.reached)
    # What is open is in the recent days alone; the books of those days are read with it.
    days = past.of_team(team) | _by_day(lines, policy, now)
    errors = past.errors(policy, now)
    at = _now(policy, month.end, now)
    found = outlook(days, at, errors, spent=spent, committed=committed)
    gone = () if found.point is None else tuple(_gone(rows, policy, days, errors, now))
    return TeamOutlook(
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


def _by_day(lines: Iterable[Posting], policy: Policy, now: datetime) -> dict[date, int]:
    """Split charges at the midnights of the organisation's zone, and sum each day up."""
    days: dict[date, int] = {}
    for line in lines:
        if line.amount_micro is None or line.currency != policy.currency:
            continue
        day, last = (local_day(at, policy.timezone) for at in (line.start, min(line.end, now)))
        while day <= last:
            begin = day_start(day, policy.timezone)
            part = clip(line, begin, day_start(day + _DAY, policy.timezone))
            if part is not None and part.amount_micro:
                days[day] = days.get(day, 0) + part.amount_micro
            day += _DAY
    return days


def _now(policy: Policy, end: datetime, now: datetime) -> Now:
    today = local_day(now, policy.timezone)
    begin = day_start(today, policy.timezone)
    over = (now - begin) * 1000 // (day_start(today + _DAY, policy.timezone) - begin)
    return Now(today, local_day(end - _INSTANT, policy.timezone), over)


def _gone(
    rows: Iterable[BudgetRow],
    policy: Policy,
    days: dict[date, int],
    errors: list[int],
    now: datetime,
) -> Iterator[RunOut]:
    for row in rows:
        if row.user is not None or row.team is None or row.currency != policy.currency:
            continue
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
