"""Closes months: what must be true before, and what closing does. A closed one never reopens.

Servers that run on are charged until the month's end first, so that no charge of it comes later.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from ...budget import Period, month_name, months
from ...errors import RefusedError
from ...i18n import _, ngettext
from ...lease import Actor, Posting
from ...lease.months import ClosedMonth, MonthCheck, MonthReview, MonthSheet, TeamSum
from ...lease.usage import Amount
from ...ledger.months import digest_of
from ...ledger.store import Ledger
from ...ledger.tally import Stretch
from ...policy.model import Policy
from ...reports import conservation
from ...reports.plain import clipped, sums
from ...reports.tables import Asked
from ..books.desk import Desk, Turn
from . import installed
from .settling import running, settle_all

SHOWN = 5
"""Leases that are named in a line of the list; all are counted."""


@dataclass(frozen=True)
class _Month:
    """The month that closes next: [start, end), by the name that people write."""

    name: str
    start: datetime
    end: datetime


def sheet(desk: Desk, *, now: datetime) -> MonthSheet:
    """List the closed months, newest first, and review the next one.

    Raises
    ------
    RefusedError
        While no policy is in force.
    """
    policy = desk.book.policy
    with desk.turn(now) as turn:
        return MonthSheet(
            timezone=policy.timezone,
            closed=turn.tx.months()[::-1],
            following=following(turn, policy),
        )


def following(turn: Turn, policy: Policy) -> MonthReview | None:
    """Review the month that closes next; None before a charge."""
    month = _following(turn, policy)
    return None if month is None else _review(turn, month)


def close(desk: Desk, name: str, *, reason: str, actor: Actor, now: datetime) -> ClosedMonth:
    """Close the month that is next.

    Raises
    ------
    RefusedError
        When it is another month's turn, or a line of the list stands in the way.
    """
    policy = desk.book.policy
    with desk.turn(now, actor) as turn:
        month = _following(turn, policy)
        if month is None or month.name != name:
            raise _not_its_turn(name, month)
        review = _review(turn, month)
        if not review.ready:
            raise _not_ready(review)
        settle_all(turn, month.end)
        lines = turn.tx.postings(start=month.start, end=month.end)
        inside = clipped(lines, month.start, month.end)
        closed = ClosedMonth(
            name=month.name,
            timezone=policy.timezone,
            start=month.start,
            end=month.end,
            at=now,
            by=actor.name,
            reason=reason,
            teams=_by_team(inside),
            amounts=_amounts(inside),
            lines=len(lines),
            unpriced_s=_unpriced_s(inside),
            digest=digest_of(lines),
        )
        turn.tx.close_month(closed, actor=actor)
    # Only what is on the record holds.
    desk.closed_until = closed.end
    return closed


def closed_until(ledger: Ledger) -> datetime | None:
    """Read until when months are closed; None where none is."""
    with ledger.transaction() as tx:
        return tx.closed_until()


def _following(turn: Turn, policy: Policy) -> _Month | None:
    """Give the first month that is not closed; None where nothing was ever charged."""
    closed = turn.tx.months()
    if closed:
        last = closed[-1]
        # Named after the last one and begun at its end: the policy's zone may have changed since.
        year, month = int(last.name[:4]), int(last.name[5:])
        name = f"{year + month // 12}-{month % 12 + 1:02d}"
        return _Month(name, last.end, _end_of(policy, name, last.end))
    begun = [lease.assigned_at for lease in turn.tx.leases() if lease.assigned_at is not None]
    first = min(filter(None, [turn.tx.first_charge(), *begun]), default=None)
    if first is None:
        return None
    period = next(months(policy.timezone, first, turn.now))
    return _Month(_name(policy, period), period.start, period.end)


def _end_of(policy: Policy, name: str, start: datetime) -> datetime:
    for period in months(policy.timezone, start, datetime.max.replace(tzinfo=start.tzinfo)):
        if _name(policy, period) == name:
            return period.end
    raise AssertionError(name)


def _review(turn: Turn, month: _Month) -> MonthReview:
    lines = turn.tx.postings(start=month.start, end=month.end)
    inside = clipped(lines, month.start, month.end)
    return MonthReview(
        name=month.name,
        start=month.start,
        end=month.end,
        checks=tuple(_checks(turn, month, lines, _unpriced_s(inside))),
        teams=_by_team(inside),
        amounts=_amounts(inside),
        lines=len(lines),
    )


def _checks(
    turn: Turn, month: _Month, lines: tuple[Posting, ...], unpriced: int
) -> Iterator[MonthCheck]:
    over = turn.now >= month.end
    yield _check(
        "over",
        over,
        _("the month is over") if over else _("the month is not over; wait until it is"),
    )
    yield _seen(turn, month)
    asked = Asked("all", month.start, month.end, turn.now, "")
    wrong = conservation.difference(lines, _ledger_sums(turn, month, lines), asked)
    agree = _("sums by team, project, person, lease and ledger agree")
    yield _check("books", not wrong, wrong or agree)
    yield _fleet(turn, month)
    told = ngettext(
        "{n} second had no price and is in no sum",
        "{n} seconds had no price and are in no sum",
        unpriced,
    )
    yield _check(
        "priced",
        not unpriced,
        told.format(n=unpriced) if unpriced else _("all of it had a price"),
        blocks=False,
    )


def _fleet(turn: Turn, month: _Month) -> MonthCheck:
    """Held, out of service and unallocated are what is installed: nothing is held twice."""
    wrong = installed.split(turn, month.start, min(month.end, turn.now)).difference
    agree = _("what was held, out of service and held by nobody is what was installed")
    return _check("fleet", not wrong, wrong or agree)


def _seen(turn: Turn, month: _Month) -> MonthCheck:
    """Servers that run on must have been seen after the month's end: they are charged until it."""
    there = running(turn, month.end)
    up = [one for one in there if one.started_at is not None]
    lost = [one for one in up if one.last_seen_at is None or one.last_seen_at < month.end]
    if lost:
        names = ", ".join(one.id for one in lost[:SHOWN])
        words = ngettext(
            "{n} server was not seen since the month's end: {names}; wait until it is, or close it",
            "{n} servers were not seen since the month's end: {names}; wait until they are, or "
            "close them",
            len(lost),
        ).format(n=len(lost), names=names)
        return _check("seen", ok=False, words=words)
    words = ngettext(
        "{n} server runs on and is charged until the month's end now",
        "{n} servers run on and are charged until the month's end now",
        len(there),
    ).format(n=len(there))
    return _check("seen", ok=True, words=words if there else _("no server of it runs on"))


def _check(code: str, ok: bool, words: str, *, blocks: bool = True) -> MonthCheck:  # noqa: FBT001 - private, named by the order of a list
    return MonthCheck(code=code, ok=ok, blocks=blocks, words=words)


def _by_team(inside: tuple[Posting, ...]) -> tuple[TeamSum, ...]:
    # They come in the order of teams.
    return tuple(
        TeamSum(team=team, amounts=_amounts(lines))
        for team, lines in groupby(inside, key=lambda line: line.team)
    )


def _amounts(inside: Iterable[Posting]) -> tuple[Amount, ...]:
    return tuple(Amount(currency=code, micro=micro) for code, micro in sorted(sums(inside).items()))


def _unpriced_s(inside: tuple[Posting, ...]) -> int:
    return sum(line.seconds for line in inside if line.amount_micro is None)


def _ledger_sums(turn: Turn, month: _Month, lines: tuple[Posting, ...]) -> dict[str, int]:
    """The database's own sums, which were not made from the lines."""
    return {
        code: sum(turn.tx.charged(Stretch(month.start, month.end, code)).of_team.values())
        for code in {line.currency for line in lines}
    }


def _name(policy: Policy, period: Period) -> str:
    return month_name(period.start, policy.timezone)


def _not_its_turn(name: str, month: _Month | None) -> RefusedError:
    if month is None:
        return RefusedError("no-charges", _("Nothing was ever charged, so there is no month."))
    return RefusedError(
        "not-its-turn",
        _("{name} cannot close now: months close in order, and {next} is next.").format(
            name=repr(name[:20]), next=month.name
        ),
    )


def _not_ready(review: MonthReview) -> RefusedError:
    words = "; ".join(one.words for one in review.checks if one.blocks and not one.ok)
    return RefusedError(
        "month-not-ready",
        _("{name} cannot close yet: {words}.").format(name=review.name, words=words),
    )
