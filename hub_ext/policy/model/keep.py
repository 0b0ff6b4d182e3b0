"""How long people may hold the idle rule off themselves: each time, for one server, in a week."""

from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from ..words import FlavorKind, Lasting, Part, Span


class KeepTimes(Part):
    """How long a "keep" holds off the rule, and how much of that there is. Never without end."""

    each: Span = timedelta(hours=1)
    """One "keep". Default 1h: a meeting or a meal, and somebody says again that it is needed.
    `0s`: nobody keeps servers of this rule."""
    server: Lasting | None = None
    """All of them for one start of a server. Default 12h for a whole GPU, 24h for a MIG device or
    time-share, 3d without a GPU: a night, so that nobody comes back to lost memory."""
    week: Lasting | None = None
    """All of them of one person within any seven days, whichever servers they are for. Default 24h
    for a whole GPU, 48h for a MIG device or time-share, 7d without a GPU: two nights, and not a
    GPU that is held all week."""


class _OrOneSpan:
    """Tells the schema that a time alone may stand there too."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        span = {"type": "string", "examples": ["20s", "15m", "4h", "7d"]}
        return {"anyOf": [span, handler(core)]}


def _of_text(value: object) -> object:
    """Take a time alone for that of one "keep"."""
    return {"each": value} if isinstance(value, str) else value


Keep = Annotated[KeepTimes, BeforeValidator(_of_text), _OrOneSpan()]
"""`{each: 1h, server: 12h, week: 24h}`, or a time alone for `each`."""

_HOUR = timedelta(hours=1)
_SERVER = {"gpu": 12 * _HOUR, "mig": 24 * _HOUR, "share": 24 * _HOUR, "none": 72 * _HOUR}
_WEEK = {"gpu": 24 * _HOUR, "mig": 48 * _HOUR, "share": 48 * _HOUR, "none": 168 * _HOUR}


def keep_server(times: KeepTimes, kind: FlavorKind) -> timedelta:
    """Give how long one start of a server may be kept; never less than one "keep"."""
    return max(_SERVER[kind], times.each) if times.server is None else times.server


def keep_week(times: KeepTimes, kind: FlavorKind) -> timedelta:
    """Give how long one person may keep servers within a week; never less than one "keep"."""
    return max(_WEEK[kind], times.each) if times.week is None else times.week
