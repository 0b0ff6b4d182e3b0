"""Query arguments: whole numbers, windows of time, whose usage. Rubbish is a clear 400."""

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Protocol

from ...errors import RefusedError
from ...i18n import _
from ..basis.windows import MOST_DAYS, window

DEFAULT_WINDOW = "30d"
_DEFAULT_STRETCH = timedelta(days=30)
_LARGEST = 2**53
_MOST_DIGITS = 17


class HasQuery(Protocol):
    """What is wanted of a request."""

    def get_query_argument(self, name: str, default: str | None) -> str | None:
        """Return a query argument, or the default where it is absent."""


def whole_number(request: HasQuery, name: str) -> int | None:
    """Read a whole number from 0; None where the argument is absent.

    Raises
    ------
    RefusedError
        400 for anything else.
    """
    text = request.get_query_argument(name, None)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise _bad(_("{name} is a whole number from 0, for example {name}=25.").format(name=name))
    return min(int(text), _LARGEST)


def stretch(
    request: HasQuery, now: datetime, zone: str, *, otherwise: str = DEFAULT_WINDOW
) -> tuple[datetime, datetime]:
    """Read the stretch of a report: `window` as `windows` has it, or `start` and `end`.

    Parameters
    ----------
    zone
        Time zone in which days and months begin.
    otherwise
        The window where none is named.

    Raises
    ------
    RefusedError
        400 for anything else.
    """
    start, end = request.get_query_argument("start", None), request.get_query_argument("end", None)
    if start is None and end is None:
        chosen = window(request.get_query_argument("window", None) or otherwise, now, zone)
        return chosen.start, chosen.end
    last = _instant(end, "end") if end is not None else now
    first = _instant(start, "start") if start is not None else _earlier(last)
    if not timedelta(0) < last - first <= timedelta(days=MOST_DAYS):
        raise _bad(_("start must be before end, by at most {n} days.").format(n=MOST_DAYS))
    return first, last


def _earlier(last: datetime) -> datetime:
    """Go back 30 days, at most to the first instant that there is."""
    return max(last, datetime.min.replace(tzinfo=UTC) + _DEFAULT_STRETCH) - _DEFAULT_STRETCH


def _instant(text: str, name: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is not None:
            return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        # 9999-12-31T23:59-23:59 can be read and lies beyond the last instant in UTC.
        pass
    raise _bad(
        _("{name} is an instant with its zone, for example 2026-11-30T14:00:00Z.").format(name=name)
    )


def _bad(words: str) -> RefusedError:
    return RefusedError("bad-request", words, status=HTTPStatus.BAD_REQUEST)
