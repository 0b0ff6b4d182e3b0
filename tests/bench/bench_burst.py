"""Fifty people press Start at once on a real hub without a free GPU: does our part hold its loop?

All but three hear that they would wait. The peer is the same hub with a spawner that refuses at
once: what its loop suffers is JupyterHub's own work. The hub's database lies in memory, as each
commit of it would hold the loop until the disk has it.
"""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.bench.stalls import IdleLoop
from tests.bench.table import Row, percentiles
from tests.e2e.rules import write_rules
from tests.support.hub import RealHub, governed

PEOPLE = 50
HELD = 3
WAVES = 2
GOAL = 1.2

MONITOR = """
def _watched(spawner, path={path!r}, started=[]):
    import asyncio, time
    async def look():
        while True:
            begun = time.monotonic()
            await asyncio.sleep(0.002)
            late = time.monotonic() - begun - 0.002
            if late > 0.002:
                with open(path, "a") as file:
                    file.write(f"{{begun}} {{late}}\\n")
    if not started:
        started.append(asyncio.get_running_loop().create_task(look()))
c.Spawner.pre_spawn_hook = _watched
c.JupyterHub.db_url = "sqlite:///{database}"
"""

REFUSES = """
from jupyterhub.spawner import SimpleLocalProcessSpawner
from tornado.web import HTTPError
class Refusing(SimpleLocalProcessSpawner):
    async def start(self):
        error = HTTPError(409)
        error.jupyterhub_message = "There is no room."
        raise error
c.JupyterHub.spawner_class = Refusing
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 5}
"""


class Burst(NamedTuple):
    """Answers' times and the longest stalls, of the hub and of an idle loop beside it; seconds."""

    times: list[float]
    stall_s: float
    machine_s: float


def rows() -> Iterator[Row]:
    """Ours beside the peer, in one run."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        policy = write_rules(folder / "policy.yaml")
        ours = burst(folder / "ours", governed(policy, folder / "ours/state"), governor=True)
        peer = burst(folder / "peer", REFUSES, governor=False)
    high, peer_high = (percentiles(one.times)[1] for one in (ours, peer))
    what = f"{PEOPLE - HELD} starts at once on a full hub"
    yield Row(
        f"{what}: answer of the hub, p95",
        f"{high * 1000:.0f} ms",
        f"a spawner that refuses at once {peer_high * 1000:.0f} ms",
        f"{high / peer_high:.2f}",
    )
    for words, one in (("ours", ours), ("that spawner", peer)):
        yield Row(
            f"{what}: longest stall of the hub's loop, {words}",
            f"{one.stall_s * 1000:.0f} ms",
            f"goal {GOAL:g} of the peer's; an idle loop beside it {one.machine_s * 1000:.0f} ms",
            f"{one.stall_s / peer.stall_s:.2f} of the peer's",
        )


def burst(folder: Path, extra: str, *, governor: bool) -> Burst:
    """Let two waves of people ask on a hub of its own."""
    people = [f"user-{number:02d}" for number in range(PEOPLE)]
    stalls = folder / "stalls"
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True, dir="/dev/shm") as memory,
        IdleLoop() as idle,
    ):
        watched = MONITOR.format(path=str(stalls), database=f"{memory}/hub.sqlite")
        groups = {"vision": people}
        with RealHub.running(folder, extra=extra + watched, groups=groups, tiny=True) as hub:
            if governor:
                hub.wait(hub.healthy, "the governor and its agent")
                for person in people[:HELD]:
                    hub.start_server(person, {"profile": "small"})
            wave(hub, people[HELD:])  # to warm up
            begun = time.monotonic()
            idle.take()
            times = [one for _wave in range(WAVES) for one in wave(hub, people[HELD:])]
            machine_s = idle.take()
        late = [
            float(line.split()[1])
            for line in stalls.read_text().splitlines()
            if float(line.split()[0]) >= begun
        ]
    return Burst(times, max(late, default=0.0), machine_s)


def wave(hub: RealHub, people: list[str]) -> list[float]:
    """Let all ask at once and hear that there is no room; return when all are settled."""

    def ask(person: str) -> float:
        begun = time.perf_counter()
        answer = hub.spawn(person, {"profile": "small"})
        took = time.perf_counter() - begun
        # An answer that comes late is 202, or 201 where the refusal came just then.
        assert answer.status in {201, 202, 409, 429}, answer
        return took

    with ThreadPoolExecutor(len(people)) as pool:
        times = list(pool.map(ask, people))
    for person in people:
        hub.wait(lambda person=person: hub.settled(person), f"{person} to settle")  # type: ignore[misc]
    return times
