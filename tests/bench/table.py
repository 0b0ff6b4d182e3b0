"""One line of the benchmark table: ours beside a peer or a limit, measured in one run."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """A figure, what it is held against, and their ratio, all as text."""

    what: str
    ours: str
    peer_or_limit: str
    ratio: str


def timed(act: Callable[[], object], *, rounds: int) -> list[float]:
    """Seconds of each of `rounds` calls."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - begin)
    return seconds


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """Median and 95th percentile, in the unit given."""
    return statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]


def against(what: str, ours_s: float, limit_s: float, limit: str) -> Row:
    """Hold a time against a limit in seconds; the ratio is ours divided by the limit."""
    return Row(
        what, f"{ours_s * 1000:.2f} ms", f"{limit} {limit_s * 1000:g} ms", f"{ours_s / limit_s:.2f}"
    )
