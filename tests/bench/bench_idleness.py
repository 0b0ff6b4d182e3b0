"""Whom the idle rules stop who worked, and whom they let hold a GPU who had left, by kind."""

from collections.abc import Iterator

from tests.bench.table import Row
from tests.support.idle_days import KINDS, in_use, latest, left, rule_with

HOURS = 100_000
"""Server-hours of people who work, all kinds together."""

LIVES, SEED = 100, 20261201


def rows() -> Iterator[Row]:
    """Simulate, and hold against none stopped and none left for longer than its limit."""
    rule = rule_with()
    stopped, hours = 0, 0.0
    for name in KINDS["in_use"]:
        found = in_use(name, rule, hours=HOURS / len(KINDS["in_use"]), seed=SEED)
        stopped, hours = stopped + found.stopped, hours + found.hours
        yield Row(
            f"{name}: stopped, announced in {found.hours:,.0f} h",
            f"{found.stopped}, {found.announced}",
            "limit 0 stopped",
            "",
        )
    yield Row(f"all who work: stopped in {hours:,.0f} h", str(stopped), "limit 0", "")
    for name in KINDS["left"]:
        found = left(name, rule, lives=LIVES, seed=SEED)
        last, limit = max(found.late, default=0), latest(name, rule)
        yield Row(
            f"{name}: stopped of {found.lives}, latest after",
            f"{found.stopped}, {last} min",
            f"limit {found.lives}, {limit} min",
            f"{last / limit:.2f}",
        )
