"""The report of a team's month in words, for its page, its mail and its text: figures as made."""

from collections.abc import Sequence

from ...i18n import _, ngettext
from ...lease.monthreport import MonthReport
from ...lease.spend import SpendRow
from ...lease.usage import Amount
from ...reports import svg
from ...reports.days import Stack, largest
from ...reports.figures import MOST_SERIES
from ...units import money_text
from ..books import formats
from . import amounts
from .laid import busy_words, days_table, gpu_title, shares, stack_words

Line = tuple[str, ...]


def sheet(report: MonthReport) -> dict[str, object]:
    """Put it into rows and sentences; every column of money foots."""
    stack = stack_of(report)
    words = stack_words(stack, report.month, report.currency)
    return {
        "team": report.team,
        "month": report.month,
        "state": report.state,
        "state_name": {
            "open": _("open: figures so far"),
            "over": _("not closed yet"),
            "closed": _("closed"),
        }[report.state],
        "state_words": state_words(report),
        "sentences": sentences(report),
        "by_gpu": lines(report.rows, report.currency, "project", "gpu"),
        "members": lines(report.people, report.currency, "user"),
        "people": report.people_shown,
        "total": _money(report.total.amounts, report.total.unpriced_s),
        "total_hours": formats.gpu_hours(report.total.unit_s),
        "total_busy": busy_words(report.total),
        "currency": report.currency,
        "days": days_table(stack),
        "days_words": words,
        "drawing": svg.stacked(stack, words, report.currency) if stack.amounts else "",
        "zone": report.timezone,
        "as_of": formats.instant(report.as_of, report.timezone),
        "digest": report.digest,
    }


def stack_of(report: MonthReport) -> Stack:
    """Lay its days out again as the charts have them."""
    names = dict.fromkeys(name for day in report.days for name in day.amounts)
    rows = {name: tuple(day.amounts.get(name, 0) for day in report.days) for name in names}
    order = sorted(rows, key=lambda name: (-sum(rows[name]), name))
    titles = tuple(day.day for day in report.days)
    stack = Stack(titles, {name or _("no project"): rows[name] for name in order})
    return largest(stack, MOST_SERIES, _("others"))


def lines(rows: Sequence[SpendRow], currency: str, *named: str) -> tuple[Line, ...]:
    """Make rows: the names, leases, GPU-hours, busy share, amount, share; the dearest first."""
    order = sorted(rows, key=lambda one: (-_own(one, currency), -one.unit_s))
    cells = amounts.column([one.amounts for one in order])
    parts = shares([_own(one, currency) for one in order])
    return tuple(
        (
            *(_name(one, word) for word in named),
            str(one.leases),
            formats.gpu_hours(one.unit_s),
            busy_words(one),
            amount,
            part,
        )
        for one, amount, part in zip(order, cells, parts, strict=True)
    )


def state_words(report: MonthReport) -> str:
    """Say how sure the figures are."""
    return {
        "open": _("The month goes on: these are figures so far."),
        "over": _("The month is over and its books are not closed yet: figures can still change."),
        "closed": _("The books of this month are closed for good."),
    }[report.state]


def sentences(report: MonthReport) -> tuple[str, ...]:
    """Say the month in a few sentences."""
    total = _money(report.total.amounts, report.total.unpriced_s)
    found = [
        _(
            "Team {team} was charged {money} in {month}, for {hours} GPU-hours in {n} leases."
        ).format(
            team=report.team,
            money=total,
            month=report.month,
            hours=formats.gpu_hours(report.total.unit_s),
            n=report.total.leases,
        ),
        _compared(report),
        _("{percent} of the {hours} GPU-hours that were measured were busy.").format(
            percent=formats.percent(report.total.utilised_percent),
            hours=formats.gpu_hours(report.total.measured_unit_s),
        )
        if report.total.utilised_percent is not None
        else _("How much of it was busy is not measured."),
    ]
    if report.running:
        found.append(
            _("{money} of it is of what runs still, and grows.").format(
                money=_money(report.running, 0)
            )
        )
    if report.corrections:
        found.append(
            _("{money} of it corrects earlier charges.").format(money=_money(report.corrections, 0))
        )
    if report.unseen_ends:
        found.append(
            ngettext(
                "The end of {n} server was not seen; it is charged until it was last seen.",
                "The ends of {n} servers were not seen; each is charged until it was last seen.",
                report.unseen_ends,
            ).format(n=report.unseen_ends)
        )
    return tuple(found)


def _compared(report: MonthReport) -> str:
    before = _money(report.before, 0) if report.before else _("nothing")
    here = sum(one.micro for one in report.total.amounts if one.currency == report.currency)
    there = sum(one.micro for one in report.before if one.currency == report.currency)
    apart = money_text(abs(here - there), report.currency)
    if here >= there:
        return _("The month before came to {before}; this is {apart} more.").format(
            before=before, apart=apart
        )
    return _("The month before came to {before}; this is {apart} less.").format(
        before=before, apart=apart
    )


def _money(found: Sequence[Amount], unpriced_s: int) -> str:
    text = " + ".join(money_text(one.micro, one.currency) for one in found)
    if not unpriced_s:
        return text or _("nothing")
    unpriced = _("{time} not priced").format(time=formats.span(unpriced_s))
    return _("{amount} and {time}").format(amount=text, time=unpriced) if text else unpriced


def _name(one: SpendRow, word: str) -> str:
    if word == "gpu":
        return gpu_title(one.names.get("model"), one.names.get("flavor"))
    return one.names.get(word) or (_("no project") if word == "project" else _("unknown"))


def _own(one: SpendRow, currency: str) -> int:
    return sum(amount.micro for amount in one.amounts if amount.currency == currency)
