"""How long a decision takes through HTTP: 1,000 people, 200 open leases, one disk.

One at a time, and a burst of 50 at once, as on a Monday morning.
"""

import http.client
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hub_ext.lease import Liveness, Report, ReportKind
from tests.bench.decision_site import OPEN, PEOPLE, asking
from tests.bench.stalls import IdleLoop
from tests.bench.table import Row, against, percentiles
from tests.support.identities import API

ROUNDS = 300
BURST = 50
LIMIT = (2.0, "spawner waits")
"""What the spawner waits for an answer, in seconds, retries included."""
GOAL = (0.005, "goal")
STALL_S = 0.02


def rows() -> Iterator[Row]:
    """Each figure against the spawner's limit."""
    with tempfile.TemporaryDirectory() as name, site(Path(name)) as served, IdleLoop() as idle:
        alone = percentiles(one_by_one(served.address))
        served.stall_s()
        idle.take()
        burst = percentiles(at_once(served.address))
        stall_s, machine_s = served.stall_s(), idle.take()
    what = f"{PEOPLE:,} people, {OPEN} open leases"
    for words, figures, limits in (
        ("one at a time", alone, (LIMIT, GOAL)),
        (f"{BURST} at once", burst, (LIMIT, LIMIT)),
    ):
        for label, seconds, limit in zip(("p50", "p95"), figures, limits, strict=True):
            yield against(f"decision through HTTP, {what}, {words}, {label}", seconds, *limit)
    yield Row(
        f"longest stall of the governor's loop, {what}, {BURST} at once",
        f"{stall_s * 1000:.0f} ms",
        f"goal {STALL_S * 1000:g} ms; an idle loop beside it {machine_s * 1000:.0f} ms",
        f"{stall_s / STALL_S:.2f}; {stall_s / machine_s:.2f}",
    )


class Served(NamedTuple):
    """The site's process."""

    address: str
    child: "subprocess.Popen[str]"

    def stall_s(self) -> float:
        """Longest stall of its loop since the last time, in seconds."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())


@contextmanager
def site(folder: Path) -> Iterator[Served]:
    """Start the site's process."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.decision_site", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        yield Served(child.stdout.readline().strip().removeprefix("http://"), child)
    finally:
        child.kill()
        child.wait(timeout=30)


def one_by_one(address: str) -> list[float]:
    """Ask and end, again and again, over one connection."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        return [
            turn(connection, OPEN + n % (PEOPLE - OPEN), f"alone-{n:05d}") for n in range(ROUNDS)
        ]
    finally:
        connection.close()


def at_once(address: str) -> list[float]:
    """Let 50 people ask at the same moment, a few times."""

    def one(n: int) -> float:
        connection = http.client.HTTPConnection(address, timeout=30)
        try:
            return turn(connection, OPEN + n, f"burst-{n:05d}")
        finally:
            connection.close()

    times: list[float] = []
    with ThreadPoolExecutor(BURST) as pool:
        for wave in range(4):
            times += pool.map(one, range(wave * BURST, (wave + 1) * BURST))
    return times


def turn(connection: http.client.HTTPConnection, person: int, attempt: str) -> float:
    """Time one ask; then report that the start came to nothing, so that the site stays as full."""
    asked = asking(person, attempt)
    began = time.perf_counter()
    status = post(connection, "attempts", asked.model_dump_json())
    took = time.perf_counter() - began
    assert status == 200, status
    told = Report(kind=ReportKind.ended, key=asked.key, liveness=Liveness.gone, refused=True)
    assert post(connection, f"attempts/{attempt}/reports", told.model_dump_json()) == 204
    return took


def post(connection: http.client.HTTPConnection, path: str, body: str) -> int:
    """Send one request as the spawner."""
    headers = {"Authorization": "token spawner", "Content-Type": "application/json"}
    connection.request("POST", API + path, body=body, headers=headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status
