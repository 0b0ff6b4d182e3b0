"""What must be equal before a figure is believed: sums by team, project, person, lease and ledger.

Pure. A report that does not agree with the books is not made.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from ..i18n import _
from ..lease import Posting, Usage
from . import plain, tables
from .tables import Asked, Dimension

NOT_TO_BE_BELIEVED = "does-not-add-up"
"""Code of the refusal of a report whose sums differ."""

DIMENSIONS: tuple[Dimension, ...] = ("team", "project", "user", "profile")


def difference(lines: Iterable[Posting], ledger: Mapping[str, int], asked: Asked) -> str:
    """Compare what reports say of charges with the ledger's own sum; empty where all agree.

    Parameters
    ----------
    lines
        Charges that overlap the window.
    ledger
        The ledger's sum of the window in micro-units, by currency, added up by the database.
    """
    known = tuple(lines)
    books = {code: micro for code, micro in ledger.items() if micro}
    for dimension in DIMENSIONS:
        made = tables.usage(known, {}, asked, by=(dimension,))
        by_line, by_sum = _of_rows(made), _of_sums(made)
        for what, found in ((_("leases"), by_line), (dimension, by_sum)):
            if wrong := _differs(what, found, books):
                return wrong
    return ""


def disagreement(
    lines: Iterable[Posting], ledger: Mapping[str, int], start: datetime, end: datetime
) -> str:
    """Compare charges of a report with the ledger's own sum; empty where they agree."""
    found = plain.sums(plain.inside(lines, start, end))
    return _differs(_("leases"), found, ledger)


def within(made: Usage) -> str:
    """Compare the rows of a report with its sums and its total; empty where they agree."""
    rows = _of_rows(made)
    total = {one.currency: one.micro for one in made.total.amounts}
    return _differs(_("sums"), _of_sums(made), rows) or _differs(_("total"), total, rows)


def _differs(what: str, found: Mapping[str, int], books: Mapping[str, int]) -> str:
    there = {code: micro for code, micro in found.items() if micro}
    expected = {code: micro for code, micro in books.items() if micro}
    if there == expected:
        return ""
    return _("by {what} it is {found}, in the ledger {books}").format(
        what=what, found=_words(there), books=_words(expected)
    )


def of_lines(lines: Iterable[Posting], asked: Asked) -> dict[str, int]:
    """Add up charges cut to the window, in micro-units by currency."""
    return plain.sums(plain.clipped(lines, asked.start, asked.end))


def _of_rows(made: Usage) -> dict[str, int]:
    sums: dict[str, int] = {}
    for row in made.rows:
        if row.amount_micro:
            sums[row.currency] = sums.get(row.currency, 0) + row.amount_micro
    return {code: micro for code, micro in sums.items() if micro}


def _of_sums(made: Usage) -> dict[str, int]:
    sums: dict[str, int] = {}
    for one in made.sums:
        for amount in one.amounts:
            sums[amount.currency] = sums.get(amount.currency, 0) + amount.micro
    return {code: micro for code, micro in sums.items() if micro}


def _words(sums: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {micro}" for code, micro in sorted(sums.items())) or "0"
