"""The report of a month as a file: CSV for a spreadsheet, HTML for a mail, text for a terminal."""

import csv
import io
from collections.abc import Sequence
from decimal import Decimal

from ...i18n import _
from ...lease.monthreport import MonthReport
from ...lease.spend import SpendRow
from ...reports.columns import in_columns
from ...units import MICRO, SECONDS_PER_HOUR, UNITS_PER_GPU
from ..sheets import month
from .overview import templates

COLUMNS = (
    "month",
    "team",
    "project",
    "gpu_model",
    "flavor",
    "person",
    "leases",
    "gpu_hours",
    "measured_gpu_hours",
    "busy_percent",
    "unpriced_seconds",
    "amount",
    "currency",
    "state",
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the begin of a formula."""


def as_csv(report: MonthReport) -> str:
    """Write one row a project, GPU, person and currency; their sum is the report's total."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in report.detail:
        for at, (micro, currency) in enumerate(_amounts(one)):
            # Of two currencies the second row has the money alone: hours are counted once.
            writer.writerow(
                [*_names(report, one), *_held(one, first=at == 0), micro, currency, report.state]
            )
    return out.getvalue()


def as_html(report: MonthReport) -> str:
    """Write a page of its own that needs no script, no style sheet and nothing from elsewhere."""
    return templates().get_template("monthmail.html").render(month.sheet(report))


def as_text(report: MonthReport) -> str:
    """Write it for a terminal or a plain mail."""
    code = report.currency
    held = (_("leases"), _("GPU-hours"), _("busy"), _("amount"), _("share"))
    by_gpu = month.lines(report.rows, code, "project", "gpu")
    parts = [
        _("Team {team}, {month}").format(team=report.team, month=report.month),
        month.state_words(report),
        " ".join(month.sentences(report)),
        in_columns([(_("project"), _("GPU"), *held), *by_gpu]),
    ]
    if report.people:
        people = month.lines(report.people, code, "user")
        parts.append(in_columns([(_("person"), *held), *people]))
    if report.digest:
        parts.append(_("Hash over its charges: {digest}").format(digest=report.digest))
    return "\n\n".join(parts) + "\n"


def _amounts(one: SpendRow) -> Sequence[tuple[str, str]]:
    return [(f"{Decimal(each.micro) / MICRO:f}", each.currency) for each in one.amounts] or [
        ("", "")
    ]


def _names(report: MonthReport, one: SpendRow) -> list[str]:
    words = ("project", "model", "flavor", "user")
    return [report.month, report.team, *(_plain(one.names.get(word) or "") for word in words)]


def _plain(name: str) -> str:
    return f"'{name}" if name.startswith(_FORMULA) else name


def _held(one: SpendRow, *, first: bool) -> list[object]:
    if not first:
        return [0, "0", "0", "", 0]
    return [
        one.leases,
        _hours(one.unit_s),
        _hours(one.measured_unit_s),
        "" if one.utilised_percent is None else one.utilised_percent,
        one.unpriced_s,
    ]


def _hours(unit_s: int) -> str:
    return f"{Decimal(unit_s) / (UNITS_PER_GPU * SECONDS_PER_HOUR):.6f}"
