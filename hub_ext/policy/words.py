"""The words of the policy file: text that becomes integers, times and names while loading.

A value is taken only as it should be written, so that nothing is guessed from YAML's types.
"""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from ..units import parse_bytes, parse_duration, parse_gpus, parse_price


def _text(parse: Callable[[str], Any], example: str) -> Callable[[object], object]:
    """Make a validator that takes text alone, so that no float slips in from YAML."""

    def convert(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"this is no text; put it in quotes, for example {example!r}")  # noqa: TRY004 - pydantic turns only ValueError into a finding
        return parse(value)

    return convert


def _lasting(text: str) -> timedelta:
    span = parse_duration(text)
    if not span:
        raise ValueError(f"{text!r} is no time at all; write at least '1s'")
    return span


def _day(value: object) -> object:
    """Take a calendar day alone: pydantic would read '0' as a day of 1970."""
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError("this is no day of the calendar; write for example 2026-12-01") from None


def _whole_number(value: object) -> object:
    """Keep `true` and `1.0` from passing as 1."""
    if type(value) is not int:
        raise ValueError("this is no whole number; write 1, without quotes")
    return value


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ValueError(
            f"{name!r} is no time zone; write for example 'Europe/Paris' or 'UTC'"
        ) from None
    return name


Gpus = Annotated[
    int,
    BeforeValidator(_text(parse_gpus, "2")),
    WithJsonSchema({"type": "string", "examples": ["2", "0.5"]}),
]
Span = Annotated[
    timedelta,
    BeforeValidator(_text(parse_duration, "4h")),
    WithJsonSchema({"type": "string", "examples": ["20s", "15m", "4h", "7d"]}),
]
Lasting = Annotated[
    timedelta,
    BeforeValidator(_text(_lasting, "4h")),
    WithJsonSchema({"type": "string", "examples": ["20s", "15m", "4h", "7d"]}),
]
Day = Annotated[
    date,
    BeforeValidator(_day),
    WithJsonSchema({"type": "string", "format": "date", "examples": ["2026-12-01"]}),
]
Count = Annotated[int, Field(strict=True, ge=1)]
"""A whole number written as one: neither `true` nor `2.0` nor text."""
Replicas = Annotated[Literal[2, 3, 4, 5, 6, 7, 8, 10, 12], BeforeValidator(_whole_number)]
"""Time-shares of one GPU; each is a whole number of units."""
FlavorKind = Literal["gpu", "mig", "share", "none"]
"""Kinds of flavor, as idle rules and task types name them."""
Flag = Annotated[bool, Field(strict=True)]
"""`true` or `false`, not a word or a number for it."""
Memory = Annotated[
    int,
    BeforeValidator(_text(parse_bytes, "16GiB")),
    WithJsonSchema({"type": "string", "examples": ["16GiB"]}),
]
Price = Annotated[
    int,
    BeforeValidator(_text(parse_price, "4.20")),
    WithJsonSchema({"type": "string", "examples": ["4.20"]}),
]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$")]
Word = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Title = Annotated[str, StringConstraints(min_length=1, max_length=120)]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Zone = Annotated[str, AfterValidator(_zone)]
Version = Annotated[Literal[1], BeforeValidator(_whole_number)]


class Part(BaseModel):
    """Base of all parts of the policy."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
