"""Budgets as rows of the pages of a person, a team and the site."""

from collections.abc import Sequence

from ...i18n import _
from ...lease.budgets import BudgetRow
from ..books import formats
from ..money.budgetrows import act_words

MOST_ROWS = 200
"""Budgets that are listed, those spent most first; the limits page has one's own."""


def sheet(rows: Sequence[BudgetRow], zone: str) -> dict[str, object]:
    """Put budgets into rows, and say in a sentence how many are at a step."""
    order = sorted(rows, key=lambda one: (-one.percent, one.budget, one.user or ""))
    return {
        "budgets": [_row(one, zone) for one in order[:MOST_ROWS]],
        "hidden_budgets": max(0, len(rows) - MOST_ROWS),
        "budget_summary": _summary(rows),
    }


def _summary(rows: Sequence[BudgetRow]) -> str:
    at_step = [one for one in rows if one.act is not None]
    if not at_step:
        return _("No budget has come to a step in its present period.")
    first = max(at_step, key=lambda one: (one.percent, one.budget, one.user or ""))
    return _(
        "{n} of {all} budgets have come to a step; most is spent of {name}, {percent} %."
    ).format(n=len(at_step), all=len(rows), name=first.budget, percent=first.percent)


def _row(one: BudgetRow, zone: str) -> dict[str, str]:
    return {
        "name": one.budget,
        "whose": whose(one),
        "amount": formats.money(one.amount_micro, one.currency),
        "spent": formats.money(one.spent_micro, one.currency),
        "percent": f"{one.percent} %",
        "committed": formats.money(one.committed_micro, one.currency),
        "left": formats.money(one.left_micro, one.currency),
        "state": _state(one, zone),
        "until": formats.instant(one.end, zone),
    }


def whose(one: BudgetRow) -> str:
    """Say whose budget it is."""
    if one.user is not None:
        return f"{one.user} ({one.team or one.project})"
    if one.team is not None:
        return one.team
    return _("project {name}").format(name=one.project)


def _state(one: BudgetRow, zone: str) -> str:
    parts = []
    if one.act is not None:
        since = "" if one.reached_at is None else formats.instant(one.reached_at, zone)
        words = act_words(one.act)
        parts.append(_("since {at}: {words}").format(at=since, words=words) if since else words)
        if one.in_force != "enforce":
            parts.append(
                _("(told, not enforced)") if one.in_force == "advise" else _("(only recorded)")
            )
    if one.next_step is not None:
        parts.append(
            _("from {percent} % on: {words}").format(
                percent=one.next_step.at_percent, words=act_words(one.next_step.act)
            )
        )
    if one.hard:
        parts.append(_("hard"))
    return "; ".join(parts)
