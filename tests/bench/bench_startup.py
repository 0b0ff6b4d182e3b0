"""How long a governor needs from its start to its first answer, with a short and a long record.

Verifying the record is no part of a start; it is said separately.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hub_ext.ledger.store import FILE, Ledger
from hub_ext.ledger.verify import verify
from tests.bench.table import Row
from tests.hub_ext.service.test_app import running
from tests.support.ledger_year import live_through

EVENTS = 1_000_000
OPEN = 200
STARTS = 3


def rows() -> Iterator[Row]:
    """A governor with a million events beside one without any."""
    with tempfile.TemporaryDirectory() as name:
        empty, full = Path(name) / "empty", Path(name) / "full"
        for folder in (empty, full):
            (folder / "state").mkdir(parents=True)
        ledger = Ledger.open(full / "state")
        live_through(ledger, EVENTS, running=OPEN)
        ledger.close()
        short, long = best_start(empty), best_start(full)
        yield Row(
            f"governor's start to its first answer, {EVENTS:,} events, {OPEN} open leases",
            f"{long:.2f} s",
            f"without any {short:.2f} s",
            f"{long / short:.2f}",
        )
        begun = time.perf_counter()
        found = verify(full / "state" / FILE)
        took = time.perf_counter() - begun
        assert found.difference == ""
        yield Row(
            f"verify {found.events:,} events, beside the governor",
            f"{took:.0f} s",
            "a night 28800 s",
            f"{took / 28800:.4f}",
        )


def best_start(folder: Path) -> float:
    """The quickest of a few starts: what comes on top is the machine's other work."""
    return min(one_start(folder) for _start in range(STARTS))


def one_start(folder: Path) -> float:
    """Seconds from the start of the process until its health has an answer."""
    begun = time.perf_counter()
    with running(folder) as governor:
        while governor.health() is None:
            time.sleep(0.01)
        return time.perf_counter() - begun
