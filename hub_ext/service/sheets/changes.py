"""What a team spent more or less than the time before, each explained as price, hours or mix."""

from ...i18n import _
from ...lease.worth import Change, ChangeSheet
from ...metering import footed
from ...units import money_text
from ..books import formats
from . import amounts

MOST_CHANGES = 8
"""Changes that are listed, the largest; the total has all."""


def sheet(found: ChangeSheet | None) -> dict[str, object]:
    """Put it into rows; None is a time that is not compared."""
    if found is None or not (found.total.before_unit_s or found.total.now_unit_s):
        return {"changes": ()}
    days = tuple(
        formats.local_date(at, found.timezone) for at in (found.before_start, found.before_end)
    )
    return {
        "changes": [_row(one, found.currency) for one in found.rows[:MOST_CHANGES]],
        "changes_total": _cells(found.total, found.currency),
        "changes_since": _("Held against {first} to before {last}.").format(
            first=days[0], last=days[1]
        ),
        "hidden_changes": max(0, len(found.rows) - MOST_CHANGES),
    }


def _row(one: Change, currency: str) -> dict[str, object]:
    name = one.names.get("project") or _("no project")
    return {"name": name, "cells": _cells(one, currency), "words": one.words}


def _cells(one: Change, currency: str) -> tuple[str, ...]:
    """Write before, now, the change, and its three parts, which add up to it."""
    parts = footed((one.price_micro, one.hours_micro, one.mix_micro), amounts.CENTS)
    figures = (one.before_micro, one.now_micro, sum(parts), *parts)
    return tuple(money_text(figure, currency) for figure in figures)
