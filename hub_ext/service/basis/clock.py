"""The governor's wall clock, the only one: everything below gets `now` as an argument."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the present instant, aware and in UTC."""


def wall_clock() -> datetime:
    """Return the present instant in UTC."""
    return datetime.now(UTC)
