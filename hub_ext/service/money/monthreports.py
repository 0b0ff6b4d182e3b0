"""Makes the report of a team's month: charges, checked against the ledger, summed up once.

Pages, files and the command line show what is made here and add nothing up themselves.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Literal, NamedTuple

from ...budget import Period, month_name
from ...errors import RefusedError
from ...i18n import _
from ...lease import Amount, Posting, TeamName
from ...lease.monthreport import MonthDay, MonthReport
from ...lease.months import ClosedMonth
from ...lease.spend import SpendDimension, SpendRow
from ...policy.model import Policy
from ...reports import plain, spend
from ...reports.days import stacked
from ...reports.spend import Part, Piece
from ..basis.windows import Window, window
from ..books.desk import Desk
from ..books.restcharges import lease_of
from .grounds import Ground, ground
from .spending import owners_of
from .usage import Scope, agreeing


class _Beside(NamedTuple):
    """What stands beside the charges of a month: how it was closed, other sums of the ledger."""

    closed: ClosedMonth | None
    before: Mapping[str, int]
    posted: Mapping[str, int]


_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}|month|last-month")


def make(desk: Desk, team: str, month: str, *, people: bool, now: datetime) -> MonthReport:
    """Report on one month of one team.

    Parameters
    ----------
    month
        `2026-11`, `month` or `last-month`.
    people
        Whether the reader sees what each person spent.

    Raises
    ------
    RefusedError
        When there is no such team or month, or the sums do not agree with the ledger.
    """
    policy = desk.book.policy
    asked = _asked(policy, team, month, now)
    found = ground(desk, Scope(f"team:{team}", teams=(team,)), asked, now=now)
    earlier = window(f"{asked.start - timedelta(days=1):%Y-%m}", now, policy.timezone)
    with desk.turn(now) as turn:
        before = turn.tx.sums(start=earlier.start, end=earlier.end, teams=(team,))
        posted = turn.tx.sums(start=asked.start, end=asked.end, teams=(team,))
        closed = {one.start: one for one in turn.tx.months()}.get(asked.start)
    beside = _Beside(closed, before, posted)
    charged = plain.sums(plain.clipped(found.lines, asked.start, found.end))
    return _agreeing(_made(policy, team, found, beside, people=people), charged)


def _asked(policy: Policy, team: str, month: str, now: datetime) -> Window:
    if team not in policy.teams:
        raise RefusedError(
            "no-such-team",
            _("The policy has no team {team}. It has: {teams}.").format(
                team=repr(team[:80]), teams=", ".join(policy.teams)
            ),
            status=HTTPStatus.NOT_FOUND,
        )
    asked = window(month, now, policy.timezone) if _MONTH.fullmatch(month) else None
    if asked is None or asked.start > now:
        raise RefusedError(
            "unknown-month",
            _("{month} is no month that has begun. Use 2026-11, month or last-month.").format(
                month=repr(month[:20])
            ),
            status=HTTPStatus.BAD_REQUEST,
        )
    return asked


def _agreeing(made: MonthReport, books: Mapping[str, int]) -> MonthReport:
    """Let a report through whose every table adds up to what was charged.

    Raises
    ------
    RefusedError
        With the difference.
    """
    wanted = {code: micro for code, micro in books.items() if micro}
    tables = {
        _("project"): made.rows,
        _("person"): made.people if made.people_shown else made.rows,
        _("lease"): made.detail,
        _("month"): (made.total,),
    }
    for what, rows in tables.items():
        found = _summed(rows)
        if found != wanted:
            agreeing(
                _("by {what} it is {found}, and {books} was charged").format(
                    what=what, found=found, books=wanted
                )
            )
    by_day = sum(micro for day in made.days for micro in day.amounts.values())
    if by_day != wanted.get(made.currency, 0):
        agreeing(
            _("the days come to {found}, and {books} was charged").format(
                found=by_day, books=wanted
            )
        )
    return made


def _summed(rows: Iterable[SpendRow]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for one in rows:
        for amount in one.amounts:
            sums[amount.currency] = sums.get(amount.currency, 0) + amount.micro
    return {code: micro for code, micro in sums.items() if micro}


def _made(
    policy: Policy,
    team: str,
    found: Ground,
    beside: _Beside,
    *,
    people: bool,
) -> MonthReport:
    owners = owners_of(policy, found.scope)
    part = Part(found.window.start, found.end, found.used)
    made: tuple[Piece, ...] = tuple(spend.pieces(found.lines, found.facts, (part,)))
    rows, total = spend.rows(made, ("project", "model", "flavor"), owners)
    inside = plain.clipped(found.lines, found.window.start, found.end)
    charged = plain.sums(inside)
    running = {code: micro - beside.posted.get(code, 0) for code, micro in charged.items()}
    by_person: tuple[SpendDimension, ...] = ("project", "model", "flavor", "user")
    return MonthReport(
        team=TeamName(team),
        month=_name(found, policy),
        timezone=policy.timezone,
        start=found.window.start,
        end=found.window.end,
        as_of=found.now,
        currency=policy.currency,
        state=_state(found),
        digest="" if beside.closed is None else beside.closed.digest,
        people_shown=people,
        rows=rows,
        people=spend.rows(made, ("user",), owners)[0] if people else (),
        detail=spend.rows(made, by_person, owners)[0] if people else rows,
        days=_days(policy, found),
        total=total,
        running=_amounts({code: micro for code, micro in running.items() if micro}),
        corrections=_amounts(plain.sums(one for one in inside if one.corrects is not None)),
        unseen_ends=len({lease_of(one.lease_id) for one in inside if one.bounded}),
        before=_amounts(beside.before),
    )


def _state(found: Ground) -> Literal["open", "over", "closed"]:
    if found.window.end > found.now:
        return "open"
    closed = found.closed_until
    return "closed" if closed is not None and found.window.end <= closed else "over"


def _days(policy: Policy, found: Ground) -> tuple[MonthDay, ...]:
    span = Period(found.window.start, found.end)
    if span.start >= span.end:
        return ()
    stack = stacked(found.lines, policy.timezone, policy.currency, span, _project)
    return tuple(
        MonthDay(
            day=title,
            amounts={name: row[at] for name, row in stack.amounts.items() if row[at]},
        )
        for at, title in enumerate(stack.titles)
    )


def _project(line: Posting) -> str:
    return line.project or ""


def _name(found: Ground, policy: Policy) -> str:
    return month_name(found.window.start, policy.timezone)


def _amounts(sums: Mapping[str, int]) -> tuple[Amount, ...]:
    return tuple(Amount(currency=code, micro=micro) for code, micro in sorted(sums.items()))
