"""Forecasts over simulated weeks: starts that lie in the range, and the score beside quantiles."""

from collections.abc import Iterator

from tests.bench.table import Row
from tests.support.week import a_week, judged

SEEDS = range(3, 9)


def rows() -> Iterator[Row]:
    """Live through a week a seed."""
    told = []
    for seed in SEEDS:
        week = a_week(seed, days=7)
        told.append(judged(week.run()))
    starts, covered = sum(one.starts for one in told), sum(one.covered for one in told)
    share = 100 * covered / starts
    yield Row(
        f"starts in the range told ({starts})", f"{share:.0f} %", "goal 80 %", f"{share / 80:.2f}"
    )
    ours = sum(one.score_h for one in told) / len(told)
    others = sum(one.quantiles_h for one in told) / len(told)
    yield Row(
        "interval score of forecasts, against quantiles of the past week",
        f"{ours:.2f} h",
        f"quantiles {others:.2f} h",
        f"{ours / others:.2f}",
    )
