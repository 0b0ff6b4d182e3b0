"""`gpu-commons waste`: what was held and did no work, in GPU-hours and money, and what was saved.

It asks the living governor, which has the readings.
"""

import argparse
import json
from collections.abc import Iterator
from urllib.parse import urlencode

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease.usage import Amount
from ..lease.waste import SavedRow, WasteRow, WasteSheet
from ..service.sheets.waste import kind_words
from ..units import SECONDS_PER_HOUR, UNITS_PER_GPU, money_text
from .acts import asked
from .columns import print_table
from .onsite import add_state, onsite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_state(parser)
    words = _("today, month, last-month, 2026-11 or 30d (default: month)")
    parser.add_argument("--window", default="month", metavar="W", help=words)
    parser.add_argument("--team", metavar="T", help=_("only this team"))
    words = _("team, project, user, profile, pool, model, month, with commas (default: team)")
    parser.add_argument("--by", default="team", metavar="WORDS", help=words)
    parser.add_argument("--json", action="store_true", help=_("as JSON"))


def run(args: argparse.Namespace) -> int:
    """Print the waste of a window and return 0.

    Raises
    ------
    GpuCommonsError
        When no governor lives, or it refuses.
    """
    site = onsite(args.state)
    pid = site.governor()
    if pid is None:
        raise GpuCommonsError(
            _("no governor lives, and only it has the readings; start the hub first")
        )
    query = {
        "scope": "all" if args.team is None else f"team:{args.team}",
        "window": args.window,
        "aggregate": args.by,
    }
    sheet = asked(site, pid, f"waste?{urlencode(query)}", WasteSheet)
    if args.json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
        return 0
    _show(sheet)
    return 0


def _show(sheet: WasteSheet) -> None:
    heads = (*sheet.by, _("kind"), _("leases"), _("GPU-hours"), _("money"))
    print_table([heads, *(_line(sheet, one) for one in sheet.rows)])
    for words in _sums(sheet):
        print(words)


def _line(sheet: WasteSheet, one: WasteRow) -> tuple[str, ...]:
    names = (one.names.get(word) or "-" for word in sheet.by)
    return (*names, kind_words(one.kind), str(one.leases), _hours(one.unit_s), _money(one))


def _sums(sheet: WasteSheet) -> Iterator[str]:
    held = sheet.held_total
    yield _("held in all: {hours} GPU-hours, of which {measured} were measured; {money}").format(
        hours=_hours(held.unit_s),
        measured=_hours(held.measured_unit_s),
        money=_amounts(held.amounts),
    )
    saved = sheet.saved_total
    yield _("saved by stopping what was idle: {hours} GPU-hours, {money}").format(
        hours=_hours(saved.unit_s), money=_money(saved)
    )
    yield sheet.saved_rule


def _money(row: WasteRow | SavedRow) -> str:
    told = _amounts(row.amounts)
    if not row.unpriced_unit_s:
        return told
    unpriced = _("{hours} GPU-hours not priced").format(hours=_hours(row.unpriced_unit_s))
    return f"{told}, {unpriced}" if row.amounts else unpriced


def _amounts(amounts: tuple[Amount, ...]) -> str:
    return " + ".join(money_text(one.micro, one.currency) for one in amounts) or "-"


def _hours(unit_s: int) -> str:
    tenths = unit_s * 10 // (UNITS_PER_GPU * SECONDS_PER_HOUR)
    return f"{tenths // 10}.{tenths % 10}"
