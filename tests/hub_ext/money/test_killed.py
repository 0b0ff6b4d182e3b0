"""A governor killed between any two writes of its books comes to the same totals afterwards.

GPU_COMMONS_EVERY_WRITE=1 goes through all of them; else every few, each from a place of its own.
"""

import json
import os
import subprocess
import sys

from tests.support.ledger_places import Place

EVERY = 1 if os.environ.get("GPU_COMMONS_EVERY_WRITE") else 0

WHOLE = [
    ["l-vera", 200, 200_000, "guaranteed"],
    # Borrowed at 1.80, then guaranteed at 3.60, and at 7.20 until the month closed and beyond.
    ["l-viktor", 100, 50_000, "borrowed"],
    ["l-viktor", 100, 100_000, "guaranteed"],
    ["l-viktor", 53_700, 107_400_000, "guaranteed"],
    ["l-sam", 53_600, 107_200_000, "guaranteed"],
    ["l-sam", 300, 600_000, "guaranteed"],
    ["l-viktor", 180, 360_000, "guaranteed"],
    # What vera was charged is taken back, and stated anew at 1.00.
    ["l-vera", 0, -200_000, "guaranteed"],
    ["l-vera", 0, 55_556, "guaranteed"],
]


def test_property_04_killed_at_any_write_the_books_come_to_the_same(where: Place) -> None:
    environment = {
        name: text for name, text in os.environ.items() if name != "GPU_COMMONS_LEDGER_URL"
    }
    if where.url:
        environment["GPU_COMMONS_LEDGER_URL"] = where.url
    step = EVERY or (29 if where.url else 11)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.money_crash", str(where.state), "1", str(step)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) > 3
    assert [one["ended"] for one in found] == [-9] * (len(found) - 1) + [0]
    assert {one["difference"] for one in found} == {""}
    for one in found:
        assert one["lines"] == WHOLE, one["step"]
        assert one["sums"] == {"EUR": 215_765_556}
        assert one["months"] == ["2026-11"]
        assert one["open"] == []
