"""From a real process beside a simulated GPU to the governor's verdict: idle, busy or unknown."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from hub_ext.idle import judge, lookback
from hub_ext.lease import (
    Grant,
    Liveness,
    ProcessRef,
    Report,
    ReportKind,
    SampleBatch,
    Verdict,
    VerdictState,
    WatchList,
)
from hub_ext.policy.model import IdleRule
from hub_ext.telemetry.agent import Agent
from hub_ext.telemetry.simulated import SimulatedReader
from tests.support.governing import POLICY, Site, site_in

ROOT = Path(__file__).parents[3]
PERIOD_S = 0.4
NODES = 2
RULE = IdleRule.model_validate(
    {
        "applies": ["mig"],
        "limit": "2s",
        "notice": "5m",
        "start_grace": "0s",
        # On a machine under load, who wants most of a core gets less.
        "cpu_active_millis": 100,
    }
)


class Story:
    """A governor, an agent, and one server with a MIG device and a real process."""

    def __init__(self, site: Site, state: Path) -> None:
        self.site = site
        self.folder = state / "sim"
        self.policy = state / "policy.yaml"
        self.policy.write_text(POLICY)
        reader = SimulatedReader(self.policy, self.folder, node="localhost", period_s=PERIOD_S)
        self.agent = Agent(reader, self, node="localhost", period_s=PERIOD_S)
        while len(site.governor.inventories(now=datetime.now(UTC))) < NODES:
            self.work(PERIOD_S)
        self.grant = self._grant()
        self.children = ExitStack()

    async def post(self, batch: SampleBatch) -> WatchList:
        """Stand between agent and governor, as HTTP does."""
        return self.site.governor.take_samples(batch, now=datetime.now(UTC))

    def _grant(self) -> Grant:
        self.site.now = datetime.now(UTC)
        return self.site.ask(self.site.asking("vera", "small"))

    def start(self, *command: str) -> psutil.Popen:
        """Start a process inside the server."""
        child = psutil.Popen(
            [sys.executable, *command],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "GPU_COMMONS_LEASE_ID": self.grant.lease_id,
                "GPU_COMMONS_SIM_FILE": str(self.folder / f"{self.grant.lease_id}.json"),
            },
            stdout=subprocess.DEVNULL,
        )
        self.children.callback(child.wait, 10)
        self.children.callback(child.kill)
        return child

    def serve(self) -> None:
        """Start the server itself, and report it."""
        child = self.start("-S", "-c", "import time; time.sleep(600)")
        process = ProcessRef(pid=child.pid, created_us=round(child.create_time() * 1_000_000))
        told = Report(
            kind=ReportKind.started, key=self.grant.key, liveness=Liveness.alive, process=process
        )
        self.site.governor.report(self.grant.attempt_id, told, now=datetime.now(UTC))

    def work(self, seconds: float) -> None:
        """Let the agent work for a while."""

        async def run() -> None:
            stop = asyncio.Event()
            asyncio.get_running_loop().call_later(seconds, stop.set)
            await self.agent.run(stop)

        asyncio.run(run())

    def watched(self, seconds: float) -> Verdict:
        """Let the agent work for a while, then judge as the governor does."""
        self.work(seconds)
        now = datetime.now(UTC)
        lease = self.site.governor.lease(self.grant.lease_id)
        assert lease is not None
        readings = self.site.governor.readings(lease.id, now - lookback(RULE, PERIOD_S), now=now)
        assert readings.source == "simulated"
        devices = tuple(device.id for device in lease.devices)
        return judge("test", RULE, lease, readings, now, required_devices=devices)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    with site_in(tmp_path / "state") as site:
        made = Story(site, tmp_path / "state")
        made.serve()
        with made.children:
            yield made


def until(story: Story, true: Callable[[Verdict], bool]) -> Verdict:
    """Watch until it is so: under load a missed reading makes everything unknown for a while."""
    verdict = story.watched(2)
    end = time.monotonic() + 30
    while not true(verdict) and time.monotonic() < end:
        verdict = story.watched(0.5)
    return verdict


def is_idle(verdict: Verdict) -> bool:
    return verdict.state is VerdictState.idle


def states(verdict: Verdict) -> dict[str, str]:
    found = {signal.name.split(" ")[0]: signal.state for signal in verdict.signals}
    return {name: found[name] for name in ("gpu", "cpu")}


def test_a_server_that_does_nothing_is_idle(story: Story) -> None:
    verdict = until(story, is_idle)
    assert states(verdict) == {"gpu": "quiet", "cpu": "quiet"}
    assert is_idle(verdict), verdict


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--gpu", "80"), {"gpu": "active", "cpu": "quiet"}),
        (("--gpu", "0", "--cpu", "0.8"), {"gpu": "quiet", "cpu": "active"}),
    ],
)
def test_one_busy_witness_is_enough_to_stay(
    story: Story, arguments: tuple[str, ...], expected: dict[str, str]
) -> None:
    story.start("-P", "-m", "hub_ext", "busy", "--for", "1m", *arguments)
    time.sleep(1)
    verdict = until(story, lambda now: states(now) == expected)
    assert states(verdict) == expected
    assert verdict.state is VerdictState.active


@pytest.mark.parametrize(
    ("arguments", "killed"),
    [pytest.param(("--unknown",), False, id="told"), pytest.param((), True, id="writer-killed")],
)
def test_unknown_is_never_idle(story: Story, arguments: tuple[str, ...], killed: bool) -> None:
    busy = story.start("-P", "-m", "hub_ext", "busy", "--for", "1m", *arguments)
    while not list(story.folder.glob("*.json")):
        time.sleep(0.05)
    if killed:
        busy.kill()
        time.sleep(2)
    verdict = until(story, lambda now: states(now) == {"gpu": "unknown", "cpu": "quiet"})
    assert states(verdict) == {"gpu": "unknown", "cpu": "quiet"}
    assert verdict.state is VerdictState.unknown


def test_after_the_load_it_is_idle_again(story: Story) -> None:
    story.start("-P", "-m", "hub_ext", "busy", "--for", "1s")
    assert not is_idle(story.watched(2))
    assert is_idle(until(story, is_idle))
