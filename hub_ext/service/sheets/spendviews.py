"""Views of what was spent that pages share: over time, by project and GPU, by GPU, by person."""

from dataclasses import dataclass

from ...i18n import _
from ...lease.waits import WaitSheet
from ...reports.figures import stacked_money
from ...reports.spend import UNKNOWN
from ..basis.words import cause_words
from ..books import formats
from .laid import (
    Laid,
    SpendLine,
    days_table,
    gpu_title,
    hints,
    spend_lines,
    stack_words,
)
from .rows import busy_share

MOST_DEAR = 10
"""Leases that are named as the dearest."""


@dataclass(frozen=True)
class ComparedLine:
    """One kind of GPU beside the others."""

    name: str
    pool: str
    line: SpendLine
    waits: str


@dataclass(frozen=True)
class DearLine:
    """One of the dearest leases."""

    href: str
    owner: str
    project: str
    task: str
    gpu: str
    amount: str
    busy: str
    ended: str


def sheet(laid: Laid, *, people: bool) -> dict[str, object]:
    """Put it over time, by project and GPU, and by person."""
    stack = laid.stack()
    title = laid.ground.window.title
    return {
        "hints": hints(laid),
        "days": days_table(stack),
        "currency": laid.currency,
        "days_figure": stacked_money(stack, laid.currency) if stack.amounts else "",
        "days_words": stack_words(stack, title, laid.currency),
        "by_gpu": _by_gpu(laid),
        "members": spend_lines(laid.rows("user"), laid, "user") if people else (),
        "dear": _dear(laid, people=people),
    }


def compared(laid: Laid, waits: WaitSheet) -> dict[str, object]:
    """Set the kinds of GPU side by side, with how long people waited for each."""
    rows = laid.rows("model", "flavor", "pool")
    lines = spend_lines(rows, laid, "model", "flavor", "pool")
    return {"models": tuple(_compared(line, waits) for line in lines)}


def _by_gpu(laid: Laid) -> tuple[SpendLine, ...]:
    return spend_lines(laid.rows("project", "model", "flavor"), laid, "project", "model", "flavor")


def _compared(line: SpendLine, waits: WaitSheet) -> ComparedLine:
    name, pool = line.names
    held = [one.held for one in waits.rows if one.pool == pool and one.held is not None]
    worst = max((one.p90_s for one in held), default=None)
    return ComparedLine(
        name=name,
        pool=pool,
        line=line,
        waits=_("nobody asked lately")
        if worst is None
        else _("90 % within {span}").format(span=formats.span(worst)),
    )


def _dear(laid: Laid, *, people: bool) -> tuple[DearLine, ...]:
    own = [row for row in laid.usage.rows if row.amount_micro and row.currency == laid.currency]
    first = sorted(own, key=lambda row: (-(row.amount_micro or 0), row.lease_id))[:MOST_DEAR]
    found = []
    for row in first:
        facts = laid.ground.facts.get(row.lease_id, UNKNOWN)
        found.append(
            DearLine(
                href=f"leases/{row.lease_id}",
                owner=row.user if people else "",
                project=row.project or _("no project"),
                task=facts.task_type or _("unlabelled"),
                gpu=gpu_title(facts.model, row.flavor),
                amount=formats.money(row.amount_micro, row.currency),
                busy=busy_share(row),
                ended=_("open, so far") if row.open else cause_words(row.cause),
            )
        )
    return tuple(found)
