"""Our culler beside jupyterhub-idle-culler on the same stub hub: a scan, stops, and who came back.

Each pass runs in a process of its own. What it took is counted above what the process had before,
of ours and of the peer's alike.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.culling_site import BACK_AFTER
from tests.bench.stub_hub import TOKEN, Seen, StubHub
from tests.bench.table import Row

USERS, LEASES = 10_000, 1000
STOPS, STOP_MS, BACK = 1000, 100, 50
CPU_S, MIB, WALL_S = 1.0, 25.0, 13.0

PEER = """
import asyncio, json, logging, sys
from jupyterhub_idle_culler import cull_idle
sys.path.insert(0, {root!r})
from tests.bench.gauge import Gauge
logger = logging.getLogger("bench")
logger.setLevel(logging.ERROR)
gauge = Gauge()
asyncio.run(cull_idle(url={url!r}, api_token={token!r}, inactive_limit=3600, logger=logger))
print(json.dumps(gauge.take()))
"""


@dataclass(frozen=True)
class Pass:
    """One pass: what its process took, what its figures say, and what the stub saw."""

    cpu_s: float
    wall_s: float
    mib: float
    seen: Seen
    figures: dict[str, float]


def rows() -> Iterator[Row]:
    """Measure, and hold against the limits and the peer."""
    ours, peer = _ours("scan", users=USERS), _peer(users=USERS)
    assert ours.figures["found"] == USERS
    what = f"scan of {USERS:,} users at the hub"
    yield _held(f"{what}: CPU", ours.cpu_s, peer.cpu_s, CPU_S, "s")
    yield _held(f"{what}: memory above before", ours.mib, peer.mib, MIB, "MiB")
    whole = _ours("whole", LEASES, users=LEASES).figures
    yield Row(
        f"one pass over {LEASES:,} leases with a GPU: comparing, judging, CPU",
        f"{whole['compare_cpu_s']:.2f}, {whole['cull_cpu_s']:.2f} s",
        "",
        "",
    )
    ours = _ours("stop", STOPS, BACK, users=STOPS, idle=STOPS, stop_ms=STOP_MS, back=BACK)
    peer = _peer(users=STOPS, idle=STOPS, stop_ms=STOP_MS, back=BACK)
    what = f"{STOPS:,} servers to stop, {STOP_MS} ms each"
    yield _held(f"{what}: first to last", ours.figures["stops_s"], peer.wall_s, WALL_S, "s")
    yield Row(
        f"{what}: the whole pass with judging all, its CPU",
        f"{ours.wall_s:.2f}, {ours.cpu_s:.2f} s",
        f"jupyterhub-idle-culler {peer.wall_s:.2f}, {peer.cpu_s:.2f} s",
        "",
    )
    yield _beside(f"{what}: stops at once", ours.seen.most_at_once, peer.seen.most_at_once)
    yield _beside(f"{what}: not read freshly before", ours.seen.unread, peer.seen.unread, most=0)
    yield _beside(
        f"{what}: stopped of {BACK} who worked again meanwhile",
        _wronged(ours.seen),
        _wronged(peer.seen),
        most=0,
    )
    assert len(ours.seen.stopped) == STOPS - BACK == ours.figures["stops"]


def _wronged(seen: Seen) -> int:
    back = range(STOPS - BACK, STOPS)
    return sum(int(name[-5:]) in back for name in seen.stopped)


def _held(what: str, ours: float, peer: float, limit: float, unit: str) -> Row:
    return Row(
        what,
        f"{ours:.2f} {unit}",
        f"limit {limit:g} {unit}; jupyterhub-idle-culler {peer:.2f} {unit}",
        f"{ours / limit:.2f}",
    )


def _beside(what: str, ours: int, peer: int, most: int | None = None) -> Row:
    limit = "" if most is None else f"limit {most}; "
    return Row(what, str(ours), f"{limit}jupyterhub-idle-culler {peer}", "")


def _ours(what: str, *numbers: int, users: int, **hub: int) -> Pass:
    with StubHub(users, **hub) as stub:
        words = [sys.executable, "-m", "tests.bench.culling_site", what, stub.url]
        return _measured(stub, [*words, *(str(one) for one in numbers)])


def _peer(*, users: int, **hub: int) -> Pass:
    root = str(Path(__file__).parents[2])
    with StubHub(users, **hub) as stub:
        code = PEER.format(root=root, url=stub.url, token=TOKEN)
        return _measured(stub, [sys.executable, "-c", code])


def _measured(stub: StubHub, command: list[str]) -> Pass:
    """Run one pass; those who come back do so once the hub has stopped a few."""
    over = threading.Event()
    watcher = threading.Thread(target=_come_back, args=(stub, over))
    watcher.start()
    try:
        told = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "no_proxy": "*"},
            timeout=900,
        )
    finally:
        over.set()
        watcher.join()
    figures = json.loads(told.stdout)
    return Pass(
        cpu_s=figures.get("cpu_s", 0.0),
        wall_s=figures.get("wall_s", 0.0),
        mib=figures.get("mib", 0.0),
        seen=stub.ask("seen"),
        figures=figures,
    )


def _come_back(stub: StubHub, over: threading.Event) -> None:
    while not over.is_set():
        if len(stub.ask("seen").stopped) >= BACK_AFTER:
            stub.ask("back")
            return
        time.sleep(0.2)
