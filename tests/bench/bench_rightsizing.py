"""Hints on size over simulated people: money saved, and how often the next lease did not fit."""

from collections.abc import Iterator

from tests.bench.table import Row
from tests.support.sized_people import judged

SEEDS = range(5)
TOO_SMALL_PERCENT = 5
"""More than that and nobody believes a hint."""


def rows() -> Iterator[Row]:
    """Judge every hint by the lease that came after it."""
    told = [judged(seed) for seed in SEEDS]
    hints, starts = sum(one.hints for one in told), sum(one.starts for one in told)
    small = 100 * sum(one.too_small for one in told) / hints
    yield Row(
        f"hints on size that would have been too small ({hints} of {starts} starts had one)",
        f"{small:.1f} %",
        f"limit {TOO_SMALL_PERCENT} %",
        f"{small / TOO_SMALL_PERCENT:.2f}",
    )
    saved = sum(one.saved_micro for one in told)
    spent = sum(one.spent_micro for one in told)
    yield Row(
        "money saved if every hint were followed, of whole GPUs",
        f"{100 * saved / spent:.0f} %",
        "nobody follows: 0 %",
        "-",
    )
