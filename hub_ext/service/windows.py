"""Stretches of time that people ask usage for: today, a month, the last days.

Months and days begin at midnight in the policy's time zone, whatever the clocks do there.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from ..errors import RefusedError
from ..i18n import _, ngettext
from ..lease import Value

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_DAYS = re.compile(r"([0-9]{1,3})d")
MOST_DAYS = 400
"""Longest window: a year and a little, so that one request never reads a whole history."""


class Window(Value):
    """[start, end) with the word that asks for it and a title for people."""

    name: str
    title: str
    start: datetime
    end: datetime


def window(name: str, now: datetime, zone: str) -> Window:
    """Read `today`, `month`, `last-month`, `2026-11` or `30d`.

    Raises
    ------
    RefusedError
        When it is none of these.
    """
    here = ZoneInfo(zone)
    today = now.astimezone(here).date()
    first = today.replace(day=1)
    days = _DAYS.fullmatch(name)
    month = _MONTH.fullmatch(name)
    if name == "today":
        return Window(name=name, title=_("today"), start=_midnight(today, here), end=now)
    if name == "month":
        return _month(name, first, here)
    if name == "last-month":
        return _month(name, (first - timedelta(days=1)).replace(day=1), here)
    if days and 1 <= int(days[1]) <= MOST_DAYS:
        n = int(days[1])
        title = ngettext("last {n} day", "last {n} days", n).format(n=n)
        return Window(name=name, title=title, start=now - timedelta(days=n), end=now)
    if month and month[1] > "1970" and "01" <= month[2] <= "12":
        return _month(name, date(int(month[1]), int(month[2]), 1), here)
    raise RefusedError(
        "unknown-window",
        _("{name} is no stretch of time. Use today, month, last-month, 2026-11 or 30d.").format(
            name=repr(name[:20])
        ),
        status=400,
    )


def _month(name: str, first: date, zone: ZoneInfo) -> Window:
    if first.year >= 9999:  # noqa: PLR2004 - the last year that dates can hold
        first = first.replace(year=9998)
    after = (first + timedelta(days=32)).replace(day=1)
    return Window(
        name=name,
        title=f"{first:%B %Y}",
        start=_midnight(first, zone),
        end=_midnight(after, zone),
    )


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)
