"""The filters of a page of money, as its form offers them: every choice is in the address."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from ...admission.offer import model_title
from ...i18n import _
from ...policy.prices import local_day
from .narrowing import KINDS, NONE, Filters, Offered

MONTHS_BACK = 13
"""Months that are offered: a year and the one that goes on."""

_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True)
class Choice:
    """One select of the form: its argument, its label, and value and words of its options."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


def sheet(
    asked: Filters, right: Offered, now: datetime, zone: str, *, people: bool = True
) -> dict[str, object]:
    """Put filters into a form's words; `people` offers to choose a person."""
    labels = {
        "project": _("Project"),
        "person": _("Person"),
        "profile": _("Profile"),
        "model": _("GPU model"),
    }
    kinds = [kind for kind in KINDS if people or kind != "person"]
    own = "," in asked.window.name
    first, last = local_day(asked.window.start, zone), local_day(asked.window.end - _INSTANT, zone)
    return {
        "window": asked.window,
        "times": tuple(_times(asked, local_day(now, zone))),
        "first_day": first.isoformat() if own else "",
        "last_day": last.isoformat() if own else "",
        "selects": tuple(_choice(kind, labels[kind], asked, right) for kind in kinds),
        "narrowed": bool(asked.names) or own,
        "narrowed_words": words(asked),
    }


def words(asked: Filters) -> str:
    """Say what a page is narrowed to; empty where it is not."""
    return ", ".join(_named(kind, name) for kind, name in asked.names.items())


def _choice(kind: str, label: str, asked: Filters, right: Offered) -> Choice:
    chosen = asked.names.get(kind, "")
    # A name without any row in this time stays to be seen.
    names = dict.fromkeys((*getattr(right, kind), *([chosen] if chosen else [])))
    options = tuple((name, _named(kind, name)) for name in names)
    return Choice(kind, label, (("", _("all")), *options), chosen)


def _named(kind: str, name: str) -> str:
    if name == NONE:
        return _("no project") if kind == "project" else _("unknown")
    return model_title(name) if kind == "model" else name


def _times(asked: Filters, today: date) -> Iterator[tuple[str, str]]:
    if "," in asked.window.name:
        yield asked.window.name, asked.window.title
    yield from (
        ("today", _("Today")),
        ("7d", _("Last 7 days")),
        ("month", _("This month")),
        ("last-month", _("Last month")),
        ("90d", _("Last 90 days")),
        ("365d", _("Last 365 days")),
    )
    first = today.replace(day=1)
    named = []
    for _back in range(MONTHS_BACK):
        named.append((f"{first:%Y-%m}", f"{first:%B %Y}"))
        first = (first - timedelta(days=1)).replace(day=1)
    yield from named
    known = {"today", "7d", "month", "last-month", "90d", "365d", *(name for name, _title in named)}
    if asked.window.name not in known and "," not in asked.window.name:
        yield asked.window.name, asked.window.title
