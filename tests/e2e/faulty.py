"""A real hub whose spawner misbehaves when told to, with a real governor and tiny servers."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from hub_ext.lease import LeaseState
from tests.e2e.rules import write_rules
from tests.support.hub import RealHub, governed

PEOPLE = ["ada", "ben", "cora", "dora", "emil", "fred", "gus", "hal"]
SMALL = {"profile": "small"}
ROOM = 3

FAULTY = """
import asyncio, pathlib
from spawner.local import GovernedLocalSpawner

def told(fault):
    return pathlib.Path({folder!r}, fault).exists()

class Faulty(GovernedLocalSpawner):
    def run_pre_spawn_hook(self):
        self.start_timeout = 4 if told("start-times-out") else 60
        self.http_timeout = 4 if told("never-answers") else 60
        return super().run_pre_spawn_hook()

    def apply_terms(self, terms):
        super().apply_terms(terms)
        if told("exits-early"):
            self.cmd = ["/bin/false"]
        if told("never-answers"):
            self.cmd = ["/bin/sh", "-c", "exec sleep 300"]

    async def launch(self):
        where = await super().launch()
        while told("start-hangs") or told("start-times-out"):
            await asyncio.sleep(0.1)
        return where

    async def stop(self, now=False):
        if told("stop-raises"):
            raise OSError("told to fail")
        await super().stop(now)

    async def poll(self):
        if told("poll-raises"):
            raise OSError("told to fail")
        return await super().poll()

c.JupyterHub.spawner_class = Faulty
"""

SETTINGS = {
    "cycle_s": 0.5,
    "reconcile_s": 2,
    "intents_s": 0.2,
    "period_s": 0.5,
    "stop_retry_s": 3,
    "agent_silence_s": 5,
}


@contextmanager
def faulty_hub(folder: Path, *, forgotten_s: float) -> Iterator[RealHub]:
    """Run it. A process that the hub forgets is told to end after `forgotten_s`."""
    # Here starts fail on purpose, one after the other, and ada shall not wait for that.
    policy = write_rules(folder / "policy.yaml", starts={"failures": 50})
    extra = FAULTY.format(folder=str(folder / "hub"))
    extra += governed(
        policy, folder / "hub/state", settings={**SETTINGS, "forgotten_s": forgotten_s}
    )
    extra += "c.Spawner.consecutive_failure_limit = 50\n"
    with RealHub.running(folder / "hub", extra=extra, groups={"vision": PEOPLE}, tiny=True) as hub:
        hub.wait(hub.healthy, "the governor and its agent")
        yield hub


@contextmanager
def fault(hub: RealHub, name: str) -> Iterator[None]:
    """Let the spawner misbehave for the length of a `with` block."""
    flag = hub.folder / name
    flag.touch()
    try:
        yield
    finally:
        flag.unlink(missing_ok=True)


def nothing_is_left(hub: RealHub) -> None:
    """Stop everything; then no lease is open, no device held, and the ledger is right."""
    for name in PEOPLE:
        hub.stop(name)
    hub.wait(lambda: not hub.leases(), "all leases to close", seconds=90)
    assert hub.held_devices() == []
    verified = hub.command("ledger", "verify", "--state", str(hub.state))
    assert verified.returncode == 0, verified.stdout
    assert hub.alive()


def servers(hub: RealHub) -> list[int]:
    """Process ids of all living servers of this hub."""
    found = []
    for process in hub.processes():
        with suppress(psutil.Error):
            if "tiny_server.py" in " ".join(process.cmdline()) and lives(process.pid):
                found.append(process.pid)
    return sorted(found)


def lives(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    try:
        status: str = psutil.Process(pid).status()
    except psutil.NoSuchProcess:
        return False
    return status != psutil.STATUS_ZOMBIE


def agreed(hub: RealHub) -> bool:
    """Whether ledger, hub and machine name the same running servers."""
    leases = hub.leases().values()
    if any(lease.state is not LeaseState.running for lease in leases):
        return False
    by_ledger = {lease.key.user for lease in leases}
    by_hub = {name for name in PEOPLE if hub.ready(name)}
    pids = [lease.process.pid for lease in leases if lease.process is not None]
    return by_ledger == by_hub and sorted(pids) == servers(hub)


def ends(hub: RealHub, user: str) -> list[tuple[str, str]]:
    """Causes and words with which a person's leases have closed, oldest first."""
    closed = [body["lease"] for _kind, _lease, body in hub.events("lease.closed")]
    return [
        (one["cause"], one["reason"]["message"]) for one in closed if one["key"]["user"] == user
    ]
