"""Integers for quota, money and time, and the only place where text becomes one of them.

Quotas, charges and durations are decided on whole numbers; a float never enters. Nothing here
reads a clock or the environment.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NewType

from .errors import UnitError

UNITS_PER_GPU = 840
"""Units of one GPU: divisible by 4, 8 and 12 memory slices and by 2 to 8, 10 and 12 replicas."""

MICRO = 1_000_000
"""Micro-units in one unit of a currency."""

SECONDS_PER_HOUR = 3600

_LONGEST_S = 3650 * 86400
_LONGEST_ECHO = 40

Units = NewType("Units", int)
"""A share of GPUs, in 1/840 of one GPU."""

Micro = NewType("Micro", int)
"""An amount of money, in 1/1 000 000 of the currency's unit."""

# Digits are counted out: `Fraction` and `int` would compute "1e999999999" until memory ends.
_GPUS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12}|/[1-9][0-9]{0,5})?")
_DURATION = re.compile(r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?")
_BYTES = re.compile(r"([0-9]{1,12})(B|KiB|MiB|GiB|TiB)")
_PRICE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
_BYTE_FACTORS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _short(text: str) -> str:
    """Repeat what somebody wrote, quoted, escaped and never longer than a line."""
    return repr(text if len(text) <= _LONGEST_ECHO else f"{text[:_LONGEST_ECHO]}…")


def parse_gpus(text: str) -> Units:
    """Convert GPUs as people write them ("2", "0.5", "1/7") to units.

    Raises
    ------
    UnitError
        When the text is no non-negative number, or no whole number of units; the message then
        names the two nearest quotas that are.
    """
    written = text.strip()
    if written.startswith("-"):
        raise UnitError(f"{_short(text)} is negative; a number of GPUs starts at 0")
    if not _GPUS.fullmatch(written):
        raise UnitError(f"{_short(text)} is no number of GPUs; write for example '2' or '0.5'")
    exact = Fraction(written)
    scaled = exact * UNITS_PER_GPU
    if scaled.denominator == 1:
        return Units(int(scaled))
    below = Units(int(scaled))
    above = Units(below + 1)
    raise UnitError(
        f"{_short(text)} GPU is no whole number of units of 1/{UNITS_PER_GPU}; "
        f"the nearest quotas are '{quota_text(below)}' and '{quota_text(above)}'"
    )


def quota_text(units: Units) -> str:
    """Write units as a GPU quota that `parse_gpus` reads back exactly."""
    exact = Fraction(units, UNITS_PER_GPU)
    if exact.denominator == 1:
        return str(exact.numerator)
    rest = exact.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        return format(Decimal(exact.numerator) / Decimal(exact.denominator), "f")
    return f"{exact.numerator}/{exact.denominator}"


def gpus_text(units: int) -> str:
    """Write units as GPUs for people: at most three decimals ("0.125", "2")."""
    return f"{Decimal(units) / UNITS_PER_GPU:.3f}".rstrip("0").rstrip(".")


def parse_duration(text: str) -> timedelta:
    """Convert '20s', '15m', '4h', '7d' or '1h30m' to a duration.

    Raises
    ------
    UnitError
        When the text has another form, or means more than ten years.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or not text.strip():
        raise UnitError(
            f"{_short(text)} is no duration; write for example '20s', '15m', '4h' or '7d'"
        )
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total > _LONGEST_S:
        raise UnitError(f"{_short(text)} is longer than any lease can be; use at most '3650d'")
    return timedelta(seconds=total)


def duration_text(span: timedelta) -> str:
    """Write a duration as `parse_duration` reads it, largest unit first; fractions are dropped."""
    rest = int(span.total_seconds())
    parts = []
    for name, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts) or "0s"


def parse_bytes(text: str) -> int:
    """Convert '16GiB' or '512MiB' to bytes.

    Raises
    ------
    UnitError
        When the number or the unit is missing or unknown.
    """
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        raise UnitError(
            f"{_short(text)} is no amount of memory; write for example '512MiB' or '16GiB'"
        )
    return int(match[1]) * _BYTE_FACTORS[match[2]]


def bytes_text(count: int) -> str:
    """Write bytes in the largest binary unit that is exact."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count and count % _BYTE_FACTORS[unit] == 0:
            return f"{count // _BYTE_FACTORS[unit]}{unit}"
    return f"{count}B"


def parse_price(text: str) -> Micro:
    """Convert a price such as '4.20' to micro-units of the currency.

    Raises
    ------
    UnitError
        When the text is no number, is negative, or is finer than a micro-unit.
    """
    written = text.strip()
    if not _PRICE.fullmatch(written):
        raise UnitError(
            f"{_short(text)} is no price; write a number from 0 upwards, for example '4.20'"
        )
    amount = Decimal(written)
    if amount > Decimal(10) ** 9:
        raise UnitError(f"{_short(text)} is no plausible price; use at most '1000000000'")
    micro = amount * MICRO
    if micro != micro.to_integral_value():
        raise UnitError(f"{_short(text)} is finer than a millionth of the currency; shorten it")
    return Micro(int(micro))


def money_text(micro: int, currency: str) -> str:
    """Write an amount with two decimals and the currency's code, half to even ("EUR 4.20").

    For display alone: sums are made on micro-units, and a statement line is rounded once.
    """
    return f"{currency} {Decimal(micro) / MICRO:,.2f}"


def accrue(price_micro: int, seconds: int) -> int:
    """Return price per hour x whole seconds, in micro-unit-seconds per hour (not yet divided).

    Sums stay exact in this product; divide once with `settle`.
    """
    return price_micro * seconds


def settle(product: int) -> Micro:
    """Divide a sum of `accrue` products by an hour, half to even, once."""
    whole, rest = divmod(product, SECONDS_PER_HOUR)
    up = rest * 2 > SECONDS_PER_HOUR or (rest * 2 == SECONDS_PER_HOUR and whole % 2 == 1)
    return Micro(whole + up)


def whole_seconds(start: datetime, end: datetime) -> int:
    """Whole seconds from start to end, never negative. Both must be aware."""
    return max(0, (instant_us(end) - instant_us(start)) // 1_000_000)


def instant_us(instant: datetime) -> int:
    """Microseconds since 1970 of an aware instant, exact.

    Raises
    ------
    UnitError
        When the instant carries no time zone.
    """
    if instant.tzinfo is None:
        raise UnitError(f"{instant!r} has no time zone; instants are aware UTC")
    return (instant - _EPOCH) // timedelta(microseconds=1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
