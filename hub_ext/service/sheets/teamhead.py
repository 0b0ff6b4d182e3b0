"""The head of a team's page: spent, budget, what is left, where the month is going.

Every figure leads to its evidence further down.
"""

from datetime import timedelta

from ...i18n import _, ngettext
from ...lease.outlook import TeamOutlook
from ...reports.burndown import BurnDown
from ...reports.figures import burned_down
from ...units import money_text
from ..books import formats
from ..money.outlooks import TeamMoney
from . import amounts
from .laid import Laid, standing
from .rows import Tile

MOST_BURNS = 3
"""Budgets that are drawn; the table of budgets has all."""


def sheet(money: TeamMoney, laid: Laid) -> dict[str, object]:
    """Put the head, the outlook and the burn-down of budgets into words."""
    key, words = standing(laid)
    return {
        "tiles": _tiles(money, laid),
        "books_key": key,
        "books": words,
        "outlook": outlook_lines(money.outlook),
        "outlook_words": money.outlook.words,
        "month": money.outlook.month,
        "burns": [_burn(one, laid.zone) for one in money.burns[:MOST_BURNS]],
    }


def outlook_lines(one: TeamOutlook) -> tuple[tuple[str, str], ...]:
    """Give the figures of a month that goes on, each with its name; what is unknown is so named."""
    if one.point_micro is None:
        likely = _("no forecast yet")
    elif one.low_micro is None:
        likely = formats.money(one.point_micro, one.currency)
    else:
        likely = _("{point}, four times in five between {low} and {high}").format(
            point=formats.money(one.point_micro, one.currency),
            low=formats.money(one.low_micro, one.currency),
            high=formats.money(one.high_micro, one.currency),
        )
    return (
        (_("Spent so far"), formats.money(one.spent_micro, one.currency)),
        (_("Agreed: what runs, until its end"), formats.money(one.committed_micro, one.currency)),
        (_("Likely by the month's end"), likely),
    )


def _tiles(money: TeamMoney, laid: Laid) -> tuple[Tile, ...]:
    total, title = laid.usage.total, laid.ground.window.title
    n = total.leases
    count = ngettext("{n} lease", "{n} leases", n).format(n=n)
    hours = _("{hours} GPU-hours, {count}").format(
        hours=formats.gpu_hours(total.unit_s), count=count
    )
    return (
        Tile(_("Spent, {window}").format(window=title), amounts.total(total), hours, "#days"),
        *_budget_tiles(money),
        _likely(money.outlook),
        Tile(
            _("Busy, {window}").format(window=title),
            formats.percent(total.utilised_percent),
            _("of the measured time; {cost} was held for it").format(cost=amounts.total(total)),
            "#use",
        ),
    )


def _budget_tiles(money: TeamMoney) -> tuple[Tile, ...]:
    if not money.burns:
        return (Tile(_("Budget"), _("no budget set"), _("nothing is counted down"), "#outlook"),)
    one = max(money.burns, key=lambda burn: (burn.amount - burn.left) * 1000 // max(burn.amount, 1))
    row = next(row for row in money.budgets if row.budget == one.name and row.user is None)
    return (
        Tile(
            _("Left of budget {name}").format(name=one.name),
            money_text(one.left, one.currency)
            if one.left >= 0
            else _("overspent by {money}").format(money=money_text(-one.left, one.currency)),
            _("of {amount}; {percent} % is spent").format(
                amount=money_text(one.amount, one.currency), percent=row.percent
            ),
            "#burn-1",
        ),
        Tile(
            _("It has to last another"),
            formats.span(int((one.period.end - one.past[-1].at).total_seconds())),
            _run_out(one, money.outlook),
            "#burn-1",
        ),
    )


def _run_out(one: BurnDown, outlook: TeamOutlook) -> str:
    gone = next((gone for gone in outlook.runs_out if gone.budget == one.name), None)
    if gone is None:
        return _("it will, if this goes on") if one.ahead else _("no forecast yet")
    if gone.first == gone.last:
        return _("spent on {day}, if this goes on").format(day=gone.first)
    return _("spent between {first} and {last}, if this goes on").format(
        first=gone.first, last=gone.last
    )


def _likely(one: TeamOutlook) -> Tile:
    title = _("Likely by the end of {month}").format(month=one.month)
    if one.point_micro is None:
        return Tile(title, _("no forecast yet"), _("too few days with a charge"), "#outlook")
    if one.low_micro is None or one.high_micro is None:
        note = _("rough: little history to go by")
    else:
        note = _("{low} to {high}, four times in five").format(
            low=money_text(one.low_micro, one.currency),
            high=money_text(one.high_micro, one.currency),
        )
    return Tile(title, money_text(one.point_micro, one.currency), note, "#outlook")


def _burn(one: BurnDown, zone: str) -> dict[str, object]:
    left = [
        (formats.minute(mark.at, zone), money_text(mark.left, one.currency)) for mark in one.past
    ]
    ahead = [
        (
            formats.minute(fan.at, zone),
            _("{low} to {high}").format(
                low=money_text(fan.low, one.currency), high=money_text(fan.high, one.currency)
            ),
        )
        for fan in one.ahead[1:]
    ]
    return {
        "name": one.name,
        "figure": burned_down(one),
        "words": _words(one, zone),
        "rows": [*left, *ahead],
        "until": formats.local_date(one.period.end - timedelta(seconds=1), zone),
    }


def _words(one: BurnDown, zone: str) -> str:
    apart = one.left - one.even
    pace = (
        _("{money} more is left than at an even pace")
        if apart >= 0
        else _("{money} less is left than at an even pace")
    ).format(money=money_text(abs(apart), one.currency))
    head = (
        _("Of {amount}, {left} is left at {at}; {pace}.")
        if one.left >= 0
        else _("More than {amount} is spent at {at}, by {left}; {pace}.")
    ).format(
        amount=money_text(one.amount, one.currency),
        left=money_text(abs(one.left), one.currency),
        at=formats.minute(one.past[-1].at, zone),
        pace=pace,
    )
    if not one.ahead:
        return f"{head} {_('What will be left at the end cannot be foretold yet.')}"
    end = one.ahead[-1]
    tail = _("At its end between {low} and {high} will be left, four times in five.").format(
        low=money_text(end.low, one.currency), high=money_text(end.high, one.currency)
    )
    return f"{head} {tail}"
