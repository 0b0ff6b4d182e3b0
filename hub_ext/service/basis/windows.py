"""Stretches of time that people ask usage for: today, a month, the last days, from one day to one.

Months and days begin at midnight in the policy's time zone, whatever the clocks do there.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from ...errors import RefusedError
from ...i18n import _, ngettext
from ...lease import Value

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_LAST = re.compile(r"([0-9]{1,4})([hd])")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNIX = re.compile(r"[0-9]{1,11}")
_WEEK = timedelta(days=7)
MOST_DAYS = 400
"""Longest window: a year and a little, so that one request never reads a whole history."""


class Window(Value):
    """[start, end) with the word that asks for it and a title for people."""

    name: str
    title: str
    start: datetime
    end: datetime


def window(name: str, now: datetime, zone: str) -> Window:
    """Read `today`, `yesterday`, `week`, `last-week`, `month`, `last-month`, `2026-11`, `30d`, ….

    Further `24h`, and `FROM,TO`: days, instants with their zone, or seconds since 1970. A week
    begins on Monday. The hyphen may be left out, as in OpenCost's words.

    Raises
    ------
    RefusedError
        When it is none of these, or longer than `MOST_DAYS`.
    """
    here = ZoneInfo(zone)
    found = (
        _worded(name, now, here) or _last(name, now) or _named(name, here) or _between(name, here)
    )
    if found is not None:
        return found
    raise RefusedError(
        "unknown-window",
        _(
            "{name} is no stretch of time of at most {most} days. Use today, yesterday, week, "
            "lastweek, month, lastmonth, 2026-11, 24h, 30d, or FROM,TO with days or instants, for "
            "example 2026-11-01,2026-11-08."
        ).format(name=repr(name[:80]), most=MOST_DAYS),
        status=400,
    )


def _worded(name: str, now: datetime, here: ZoneInfo) -> Window | None:
    today, day = now.astimezone(here).date(), timedelta(days=1)
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    if name == "today":
        return Window(name=name, title=_("today"), start=_midnight(today, here), end=now)
    days = {
        "yesterday": (_("yesterday"), (today - day, today)),
        "week": (_("this week"), (monday, monday + _WEEK)),
        "lastweek": (_("last week"), (monday - _WEEK, monday)),
    }
    known = name.replace("-", "")
    if known in days:
        title, ends = days[known]
        return _days(name, title, ends, here)
    months = {"month": first, "lastmonth": (first - day).replace(day=1)}
    return _month(name, months[known], here) if known in months else None


def _last(name: str, now: datetime) -> Window | None:
    found = _LAST.fullmatch(name)
    if not found or not int(found[1]):
        return None
    n = int(found[1])
    span = timedelta(days=n) if found[2] == "d" else timedelta(hours=n)
    if span > timedelta(days=MOST_DAYS):
        return None
    title = ngettext("last {n} day", "last {n} days", n)
    if found[2] == "h":
        title = ngettext("last {n} hour", "last {n} hours", n)
    return Window(name=name, title=title.format(n=n), start=now - span, end=now)


def _named(name: str, here: ZoneInfo) -> Window | None:
    month = _MONTH.fullmatch(name)
    if month and month[1] > "1970" and "01" <= month[2] <= "12":
        return _month(name, date(int(month[1]), int(month[2]), 1), here)
    return None


def _between(name: str, here: ZoneInfo) -> Window | None:
    """Read FROM,TO; TO is not in it, also where it is a day."""
    texts = name.split(",")
    if len(texts) != 2:  # noqa: PLR2004 - from and to
        return None
    start, end = (_instant(text.strip(), here) for text in texts)
    if start is None or end is None or not start < end <= start + timedelta(days=MOST_DAYS):
        return None
    title = _("{start} to {end}").format(start=texts[0].strip(), end=texts[1].strip())
    return Window(name=name, title=title, start=start, end=end)


def _instant(text: str, here: ZoneInfo) -> datetime | None:
    try:
        if _DAY.fullmatch(text):
            return _midnight(date.fromisoformat(text), here)
        if _UNIX.fullmatch(text):
            return datetime.fromtimestamp(int(text), UTC)
        found = datetime.fromisoformat(text)
        # 9999-12-31T23:59-23:59 can be read and lies beyond the last instant in UTC.
        return found.astimezone(UTC) if found.tzinfo is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _days(name: str, title: str, days: tuple[date, date], zone: ZoneInfo) -> Window:
    return Window(
        name=name, title=title, start=_midnight(days[0], zone), end=_midnight(days[1], zone)
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
