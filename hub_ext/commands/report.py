"""`gpu-commons report`: what a team's month came to, as text, CSV or HTML that a mail can carry.

Where a governor lives it makes the report; where none does, the command makes the same itself.
"""

import argparse
from pathlib import Path
from urllib.parse import quote

from ..i18n import _
from ..lease.monthreport import MonthReport
from ..service.pages.monthfiles import as_csv, as_html, as_text
from .acts import asked, in_its_place
from .files import write
from .onsite import add_verb, onsite

FORMATS = {"text": as_text, "csv": as_csv, "html": as_html}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    month = add_verb(verbs, "month", _("report on one month of one team"))
    month.add_argument("--team", required=True, metavar="T", help=_("whose month"))
    words = _("2026-11, month or last-month (default: last-month)")
    month.add_argument("--month", default="last-month", metavar="M", help=words)
    month.add_argument(
        "--as",
        dest="form",
        choices=FORMATS,
        default="text",
        help=_("what to write (default: text); html is a page of its own for a mail"),
    )
    words = _("file to write (default: standard output)")
    month.add_argument("--out", type=Path, metavar="FILE", help=words)


def run(args: argparse.Namespace) -> int:
    """Write the report and return 0.

    Raises
    ------
    GpuCommonsError
        When there is no such team or month, or the sums do not agree with the ledger.
    """
    site = onsite(args.state)
    pid = site.governor()
    if pid is not None:
        path = f"teams/{quote(args.team, safe='')}/months/{quote(args.month, safe='')}"
        report = asked(site, pid, path, MonthReport)
    else:
        with in_its_place(site) as (core, now):
            report = core.month_report(args.team, args.month, now=now)
    write(FORMATS[args.form](report), args.out)
    return 0
