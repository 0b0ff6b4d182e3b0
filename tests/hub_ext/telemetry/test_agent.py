"""The agent reports what it reads, watches what it is told to, and outlives its governor."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from hub_ext.cli import main
from hub_ext.lease import LeaseId, SampleBatch, WatchItem, WatchList
from hub_ext.telemetry.agent import Agent
from hub_ext.telemetry.inbox import Inbox
from hub_ext.telemetry.simulated import SimulatedReader
from tests.support.fake_prometheus import gpu, prometheus
from tests.support.inbox import TOKEN, InboxGovernor
from tests.support.nvml import FakeDriver

from .small_policy import TEXT

ROOT = Path(__file__).parents[3]
PERIOD_S = 0.1
Story = Callable[[InboxGovernor], Awaitable[None]]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def run(policy: Path, tmp_path: Path) -> Callable[[Story], None]:
    """Tell a story with an agent that runs beside it, and end both."""

    @asynccontextmanager
    async def agent(governor: InboxGovernor) -> AsyncIterator[None]:
        reader = SimulatedReader(policy, tmp_path / "sim", node="localhost", period_s=PERIOD_S)
        inbox, stop = Inbox(governor.url, TOKEN), asyncio.Event()
        made = Agent(reader, inbox, node="localhost", period_s=PERIOD_S)
        running = asyncio.create_task(made.run(stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(running, 5)
            inbox.close()
            await governor.close()

    def tell(story: Story) -> None:
        async def both() -> None:
            governor = InboxGovernor()
            async with agent(governor):
                await asyncio.wait_for(story(governor), 30)

        asyncio.run(both())

    return tell


async def came(governor: InboxGovernor, count: int) -> None:
    """Wait until so many more batches have come."""
    wanted = len(governor.batches) + count
    await until(lambda: len(governor.batches) >= wanted)


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is true; the story's own limit ends what never is."""
    while not true():  # noqa: ASYNC110 - the things waited for have no event to wait on
        await asyncio.sleep(0.01)


def here(governor: InboxGovernor) -> list[SampleBatch]:
    return [batch for batch in governor.batches if batch.node == "localhost"]


def test_batches_come_each_period_for_each_node_with_source_and_devices(
    run: Callable[[Story], None],
) -> None:
    async def story(governor: InboxGovernor) -> None:
        governor.open()
        await came(governor, 6)
        assert {batch.node for batch in governor.batches} == {"localhost", "node-2"}
        first, *rest = here(governor)
        assert (first.source, first.period_s) == ("simulated", PERIOD_S)
        assert first.inventory is not None
        assert len(first.inventory.devices) == len(first.devices) == 3
        assert all(batch.inventory is None for batch in rest)
        assert all(len(batch.devices) == 3 for batch in rest)

    run(story)


def test_the_inventory_is_sent_again_when_asked_for(run: Callable[[Story], None]) -> None:
    async def story(governor: InboxGovernor) -> None:
        governor.open()
        await came(governor, 4)
        governor.watch = WatchList(leases=(), inventory_wanted=True)
        await came(governor, 4)
        assert governor.batches[-1].inventory is not None

    run(story)


def test_the_inventory_is_sent_again_when_it_changed(
    run: Callable[[Story], None], policy: Path
) -> None:
    async def story(governor: InboxGovernor) -> None:
        governor.open()
        await came(governor, 4)
        more = TEXT.replace("{name: localhost, gpus: 1}, {", "{name: localhost, gpus: 2}, {")
        await asyncio.to_thread(policy.write_text, more)
        await until(lambda: here(governor)[-1].inventory is not None)
        told = here(governor)[-1].inventory
        assert told is not None
        assert len(told.devices) == 4

    run(story)


def test_what_the_governor_names_is_watched(run: Callable[[Story], None]) -> None:
    async def story(governor: InboxGovernor) -> None:
        governor.watch = WatchList(
            leases=(WatchItem(lease_id=LeaseId("lease-1"), devices=(), process=None),)
        )
        governor.open()
        await came(governor, 6)
        (sample,) = here(governor)[-1].processes
        elsewhere = [batch.processes for batch in governor.batches if batch.node == "node-2"]
        assert not any(elsewhere), "two nodes told of one server's processes"
        assert sample.lease_id == "lease-1"
        assert sample.cpu_millis is None
        assert sample.absent == "no process of this lease is found on this node"

    run(story)


def test_it_reports_within_a_second_of_the_governors_return(
    run: Callable[[Story], None], caplog: pytest.LogCaptureFixture
) -> None:
    took_s = []

    async def story(governor: InboxGovernor) -> None:
        for _time in range(2):
            await asyncio.sleep(1.5)
            before = len(governor.batches)
            governor.open()
            opened = time.monotonic()
            await came(governor, 1)
            took_s.append(time.monotonic() - opened)
            assert governor.batches[before].inventory is not None, "the first tells the devices"
            await governor.close()

    with caplog.at_level(logging.WARNING, "gpu_commons.agent"):
        run(story)
    assert min(took_s) < 1
    away = [line for line in caplog.messages if line.startswith("No samples are reported")]
    assert 1 <= len(away) <= 4, "it says that it is away once, not at each try"


@pytest.mark.parametrize(
    ("refusal", "rubbish", "words"),
    [
        ((503, "the hub is not up yet"), False, "(HTTP 503): the hub is not up yet"),
        (None, True, "answers, but not as a governor does"),
    ],
)
def test_a_governor_out_of_order_is_tried_again_in_words(
    run: Callable[[Story], None],
    caplog: pytest.LogCaptureFixture,
    refusal: tuple[int, str] | None,
    rubbish: bool,
    words: str,
) -> None:
    async def story(governor: InboxGovernor) -> None:
        governor.refusal, governor.rubbish = refusal, rubbish
        governor.open()
        await until(lambda: any(words in line for line in caplog.messages))
        governor.refusal, governor.rubbish = None, False
        await came(governor, 2)

    run(story)
    assert "Samples are reported again." in caplog.messages


def test_the_offset_of_its_clock_is_measured_and_told(run: Callable[[Story], None]) -> None:
    async def story(governor: InboxGovernor) -> None:
        governor.clock = lambda: datetime.now(UTC) + timedelta(seconds=90)
        governor.open()
        await until(lambda: any(batch.clock for batch in governor.batches))
        assert governor.batches[0].clock is None
        told = next(batch.clock for batch in governor.batches if batch.clock)
        assert abs(told.offset_ms - 90_000) <= told.within_ms + 1

    run(story)


def test_a_batch_that_is_refused_for_good_is_not_tried_again_and_is_counted(
    run: Callable[[Story], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def story(governor: InboxGovernor) -> None:
        governor.refusal = (400, "devices.0.memory_used_bytes: below 0")
        governor.open()
        await until(lambda: "is set aside" in caplog.text)
        governor.refusal = None
        await until(lambda: any(batch.refused for batch in governor.batches))

    run(story)
    assert "HTTP 400): devices.0.memory_used_bytes: below 0. This batch of" in caplog.text
    assert "No samples are reported" not in caplog.text, "the governor is not away"


def _command(*more: str, **environment: str) -> subprocess.Popen[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPU_COMMONS", "JUPYTERHUB"))}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "hub_ext", "agent", *more],
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


def _report_of(
    governor: InboxGovernor,
    process: subprocess.Popen[str],
    number: int | None = signal.SIGTERM,
    *,
    batches: int = 2,
) -> str:
    """Wait for reports, end the process by a signal, return what it said."""

    async def story() -> None:
        governor.open()
        await asyncio.wait_for(came(governor, batches), 30)
        if number is not None:
            process.send_signal(number)
        await asyncio.to_thread(process.wait, 10)
        await governor.close()

    try:
        asyncio.run(story())
    finally:
        process.kill()
        said = process.communicate()[1]
    return said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_reports_until_it_is_told_to_end(
    policy: Path, tmp_path: Path, number: int
) -> None:
    governor = InboxGovernor()
    process = _command(
        GPU_COMMONS_GOVERNOR_URL=governor.url,
        GPU_COMMONS_DEVICES="simulated",
        GPU_COMMONS_POLICY=str(policy),
        GPU_COMMONS_STATE=str(tmp_path),
        GPU_COMMONS_INTERVALS='{"period_s": 0.2, "judge_s": 1}',
        JUPYTERHUB_API_TOKEN=TOKEN,
    )
    said = _report_of(governor, process, number)
    assert process.returncode == 0, said
    assert governor.batches[0].period_s == 0.2


def test_the_command_reports_what_a_prometheus_tells() -> None:
    governor = InboxGovernor()
    now = datetime.now(UTC)
    with prometheus(now) as server:
        server.tell(gpu("GPU-a", "node-2", "jupyter-vera"), util=40)
        arguments = ("--url", governor.url, "--devices", "prometheus", "--prometheus", server.url)
        process = _command(*arguments, JUPYTERHUB_API_TOKEN=TOKEN)
        said = _report_of(governor, process, batches=1)
    assert process.returncode == 0, said
    batch = governor.batches[0]
    assert (batch.node, batch.source, batch.period_s) == ("node-2", "prometheus", 30.0)
    assert [one.util_percent for one in batch.devices] == [40]


def test_the_command_ends_with_its_parent(policy: Path, tmp_path: Path) -> None:
    governor = InboxGovernor()
    arguments = ["--url", governor.url, "--devices", "simulated", "--policy", str(policy)]
    arguments += ["--state", str(tmp_path), "--period", "0.2"]
    code = (
        "import subprocess, sys, time\n"
        "command = [sys.executable, '-P', '-m', 'hub_ext', 'agent', *sys.argv[1:]]\n"
        "child = subprocess.Popen(command)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "JUPYTERHUB_API_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    agent = psutil.Process(int(parent.stdout.readline()))
    try:
        _report_of(governor, parent, signal.SIGKILL)
        _gone, alive = psutil.wait_procs([agent], timeout=5)
        assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
    finally:
        if agent.is_running():
            agent.kill()


def test_the_command_reports_real_devices(driver: FakeDriver) -> None:
    governor = InboxGovernor()
    driver.add_gpu().util = 42
    process = _command(
        *("--url", governor.url, "--devices", "nvml", "--node", "gpu-1", "--period", "0.2"),
        JUPYTERHUB_API_TOKEN=TOKEN,
        **driver.environment,
    )

    async def story() -> None:
        governor.open()
        await until(lambda: any(batch.devices for batch in governor.batches))
        await governor.close()

    try:
        asyncio.run(asyncio.wait_for(story(), 30))
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()
    batch = next(batch for batch in governor.batches if batch.devices)
    assert (batch.node, batch.source, batch.period_s) == ("gpu-1", "nvml", 5.0)
    assert batch.devices[0].util_percent == 42


def test_nvml_that_fails_is_never_replaced_by_a_simulation() -> None:
    governor = InboxGovernor()
    process = _command(
        *("--url", governor.url, "--devices", "nvml", "--period", "0.2"),
        JUPYTERHUB_API_TOKEN=TOKEN,
        NVML_STUB_WORLD="/nonexistent",
    )

    async def story() -> None:
        governor.open()
        await until(lambda: any(batch.inventory for batch in governor.batches))
        await governor.close()

    try:
        asyncio.run(asyncio.wait_for(story(), 30))
    finally:
        process.terminate()
        process.communicate(timeout=10)
    told = next(batch.inventory for batch in governor.batches if batch.inventory)
    assert told.source == "nvml"
    assert told.devices == ()
    assert "no NVIDIA driver is loaded on this node" in told.problem


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Name the governor"),
        (["--url", "http://127.0.0.1:1"], "The agent has no token"),
        (["--url", "http://127.0.0.1:1", "--token-file", "/nonexistent/t"], "cannot be read"),
        (["--url", "http://127.0.0.1:1", "--devices", "simulated"], "The agent has no token"),
    ],
)
def test_what_is_not_named_is_asked_for(
    arguments: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in list(os.environ):
        if name.startswith(("GPU_COMMONS", "JUPYTERHUB")):
            monkeypatch.delenv(name)
    assert main(["agent", *arguments]) == 1
    assert words in capsys.readouterr().err


def test_simulated_devices_need_a_policy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", TOKEN)
    assert main(["agent", "--url", "http://127.0.0.1:1", "--devices", "simulated"]) == 1
    assert "need --policy and --state" in capsys.readouterr().err


def test_intervals_that_are_none_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", TOKEN)
    monkeypatch.setenv("GPU_COMMONS_INTERVALS", "soon")
    assert main(["agent", "--url", "http://127.0.0.1:1", "--devices", "simulated"]) == 1
    assert 'such as {"period_s": 2}' in capsys.readouterr().err
