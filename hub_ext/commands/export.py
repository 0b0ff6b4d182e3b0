"""`gpu-commons export`: what is on the books of a stretch of time, for the tools of others.

It reads the ledger beside a living governor and changes nothing. An export that does not add up to
the ledger is not written.
"""

import argparse
import csv
import hashlib
import hmac
import io
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from ..errors import GpuCommonsError, LedgerError
from ..i18n import _, ngettext
from ..lease import Posting
from ..ledger.beside import reading, used
from ..policy.load import loads
from ..policy.model import Policy
from ..reports import focus, journal, plain
from ..reports.focuschecks import faults
from ..service.basis.windows import Window, window
from ..statedir import StateDir
from ..units import MICRO, money_text
from .files import write
from .onsite import Onsite, add_state, onsite

FORMATS: dict[str, focus.Version | None] = {
    "focus-1.4": "1.4",
    "focus-1.2": "1.2",
    "csv": None,
    "json": None,
    "journal": None,
}


class Export(NamedTuple):
    """What goes into a file, and the charges that it is made of."""

    text: str
    lines: tuple[Posting, ...]
    rows: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_state(parser)
    parser.add_argument("--format", choices=FORMATS, required=True, help=_("what to write"))
    words = _("today, month, last-month, 2026-11 or 30d (default: last-month)")
    parser.add_argument("--window", default="last-month", metavar="W", help=words)
    parser.add_argument("--team", metavar="T", help=_("only this team"))
    parser.add_argument(
        "--people",
        choices=("pseudonyms", "names", "none"),
        default="pseudonyms",
        help=_("how people are named (default: pseudonyms, the same in each export of this hub)"),
    )
    words = _("file to write (default: standard output)")
    parser.add_argument("--out", type=Path, metavar="FILE", help=words)


def run(args: argparse.Namespace) -> int:
    """Write the export, print its sums to standard error and return 0.

    Raises
    ------
    GpuCommonsError
        When there is nothing to export, or the rows do not add up to the ledger.
    """
    site = onsite(args.state)
    now = datetime.now(UTC)
    with reading(site.state, url=site.ledger_url) as tx:
        policy = _policy(tx.generation())
        stretch = window(args.window, now, policy.timezone)
        teams = None if args.team is None else (args.team,)
        lines = tx.postings(start=stretch.start, end=stretch.end, teams=teams)
        running = sum(lease.holding and args.team in {None, lease.team} for lease in tx.leases())
    inside = plain.clipped(lines, stretch.start, stretch.end)
    if not inside:
        raise GpuCommonsError(
            _("nothing is on the books of {window}; a lease is charged when it ends").format(
                window=stretch.title
            )
        )
    made = _made(args, site, policy, stretch, inside)
    write(made.text, args.out)
    sys.stderr.write("\n".join(_told(made, stretch, running)) + "\n")
    return 0


def _policy(newest: tuple[int, str, str] | None) -> Policy:
    if newest is None:
        raise GpuCommonsError(_("no policy was ever in force here, so nothing was charged"))
    return loads(newest[1]).policy


def _made(
    args: argparse.Namespace,
    site: Onsite,
    policy: Policy,
    stretch: Window,
    lines: tuple[Posting, ...],
) -> Export:
    person = _person(args.people, site.state)
    version = FORMATS[args.format]
    if version is not None:
        return _focus(version, site, policy, stretch, lines, person)
    if args.format == "journal":
        return _journal(policy, stretch, lines)
    rows = [plain.row(line, person) for line in lines]
    if args.format == "csv":
        return Export(_csv(plain.COLUMNS, rows), lines, len(rows))
    body = {
        "start": stretch.start.isoformat(),
        "end": stretch.end.isoformat(),
        "sums_micro": plain.sums(lines),
        "lines": rows,
    }
    return Export(json.dumps(body, indent=1, ensure_ascii=False) + "\n", lines, len(rows))


def _journal(policy: Policy, stretch: Window, lines: tuple[Posting, ...]) -> Export:
    """Write double entry; an entry that does not balance is written nowhere."""
    entries = (
        *journal.grants(policy, stretch.start, stretch.end),
        *journal.journal(lines),
    )
    wrong = journal.unbalanced(entries)
    if wrong:
        raise LedgerError(
            _("the export is wrong and was not written: {faults}").format(faults=wrong)
        )
    rows = [journal.row(entry, leg) for entry in entries for leg in entry.legs if leg.ticks]
    return Export(_csv(journal.COLUMNS, rows), lines, len(rows))


def _focus(
    version: focus.Version,
    site: Onsite,
    policy: Policy,
    stretch: Window,
    lines: tuple[Posting, ...],
    person: Callable[[str], str | None],
) -> Export:
    odd = sorted({line.currency for line in lines if not journal.is_money(line.currency)})
    if odd:
        raise GpuCommonsError(
            _(
                "FOCUS takes currencies of ISO 4217 alone, and {codes} is none; export as csv or "
                "json, where credits stay credits"
            ).format(codes=", ".join(odd))
        )
    known = used(site.state, stretch.start, stretch.end)
    terms = focus.Terms(policy, version, person, known, stretch.start, stretch.end)
    rows = focus.rows(lines, terms)
    books = {code: Decimal(micro) / MICRO for code, micro in plain.sums(lines).items()}
    wrong = faults(rows, books)
    if wrong:
        raise LedgerError(
            _("the export is wrong and was not written: {faults}").format(faults="; ".join(wrong))
        )
    return Export(_csv(focus.columns(version), rows), lines, len(rows))


def _person(how: str, state: Path) -> Callable[[str], str | None]:
    if how == "none":
        return lambda _user: None
    if how == "names":
        return lambda user: user
    key = StateDir(state).token("export").encode()

    def pseudonym(user: str) -> str:
        return f"p-{hmac.new(key, user.encode(), hashlib.sha256).hexdigest()[:16]}"

    return pseudonym


def _csv(
    columns: Sequence[str],
    rows: Sequence[focus.Row] | Sequence[plain.Row] | Sequence[journal.Row],
) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _told(made: Export, stretch: Window, running: int) -> list[str]:
    words = [
        ngettext("{title}: {n} row", "{title}: {n} rows", made.rows).format(
            title=stretch.title, n=made.rows
        )
    ]
    words += [
        _("as in the ledger: {money} ({micro} millionths)").format(
            money=money_text(micro, currency), micro=micro
        )
        for currency, micro in sorted(plain.sums(made.lines).items())
    ]
    unpriced = sum(line.seconds for line in made.lines if line.price_micro_per_hour is None)
    if unpriced:
        words.append(_("not priced, and in no sum: {n} seconds").format(n=unpriced))
    if running:
        words.append(
            ngettext(
                "{n} lease runs and is not on the books yet",
                "{n} leases run and are not on the books yet",
                running,
            ).format(n=running)
        )
    return words
