"""Forgotten processes, real ones: told to end, then ended, and nobody else's is touched."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from hub_ext.lease import Cause, LeaseState, Liveness, OpenLease, ProcessRef, ReportKind
from hub_ext.service.basis import machine
from hub_ext.service.books.config import GovernorConfig
from hub_ext.service.leasing.forgotten import END, SIGNALLED
from hub_ext.service.workers.ending import work_endings
from tests.support.small_core import SmallCore

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
WAITS = "print('up', flush=True); import time; time.sleep(120)"
Launch = Callable[..., ProcessRef]


@pytest.fixture
def launch() -> Iterator[Launch]:
    with ExitStack() as ends:

        def start(*, stubborn: bool = False, **environment: str) -> ProcessRef:
            process = subprocess.Popen(
                [sys.executable, "-c", (STUBBORN if stubborn else "") + WAITS],
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
            )
            ends.callback(process.__exit__, None, None, None)
            ends.callback(process.kill)
            assert process.stdout
            process.stdout.readline()
            born = psutil.Process(process.pid).create_time()
            return ProcessRef(pid=process.pid, created_us=round(born * 1_000_000))

        yield start


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state") as core:
        core.governor._desk.alive = machine.probe
        yield core


def work(core: SmallCore) -> None:
    settings = replace(
        GovernorConfig(state="state").settings(), forgotten_s=30.0, stop_retry_s=15.0
    )

    async def once() -> None:
        with core.runner() as runner:
            await work_endings(runner, settings)

    asyncio.run(once())


def run(core: SmallCore, launch: Launch, *, stubborn: bool = False) -> OpenLease:
    """Start a server whose process is a real one with the lease's mark."""
    lease = core.ask("ada")
    process = launch(stubborn=stubborn, **{machine.MARK: lease.id})
    core.report(lease, ReportKind.started, process=process)
    return core.lease(lease.id)


def forget(core: SmallCore, lease: OpenLease) -> bool:
    return core.governor.forget(lease.id, lease.process, now=core.now)


def seen(lease: OpenLease) -> Liveness:
    assert lease.process is not None
    return machine.liveness(lease.process)


def signals(core: SmallCore) -> list[object]:
    return [event.body["signal"] for event in core.events(SIGNALLED)]


def until_gone(lease: OpenLease) -> None:
    deadline = time.monotonic() + 20
    while seen(lease) is not Liveness.gone:
        assert time.monotonic() < deadline, "it lives"
        time.sleep(0.02)


def test_a_forgotten_process_is_told_to_end_after_a_while_and_its_lease_closes(
    core: SmallCore, launch: Launch
) -> None:
    lease = run(core, launch)
    assert forget(core, lease)
    assert not forget(core, lease), "it is said once"
    core.later(20)
    work(core)
    assert (seen(lease), signals(core)) == (Liveness.alive, [])
    core.later(20)
    work(core)
    assert signals(core) == ["SIGTERM"]
    until_gone(lease)
    core.later(20)
    work(core)
    closed = core.lease(lease.id)
    assert (closed.state, closed.cause) == (LeaseState.closed, Cause.lost)
    assert core.governor.intents() == ()


def test_who_ignores_it_is_ended_and_holds_the_device_until_then(
    core: SmallCore, launch: Launch
) -> None:
    lease = run(core, launch, stubborn=True)
    forget(core, lease)
    core.later(40)
    work(core)
    core.later(10)
    work(core)
    assert signals(core) == ["SIGTERM"], "it gets its time"
    assert seen(lease) is Liveness.alive
    assert core.governor.queue(now=core.now).pools[0].held == lease.units
    core.later(10)
    work(core)
    assert signals(core) == ["SIGTERM", "SIGKILL"]
    until_gone(lease)
    core.later(20)
    work(core)
    assert core.lease(lease.id).state is LeaseState.closed


def test_what_outlives_its_server_is_ended_too_and_nobody_elses_process(
    core: SmallCore, launch: Launch
) -> None:
    lease = run(core, launch)
    left = launch(**{machine.MARK: lease.id})
    another = launch(**{machine.MARK: f"{lease.id}0"})
    assert lease.process is not None
    psutil.Process(lease.process.pid).kill()
    until_gone(lease)
    assert machine.probe(core.lease(lease.id)) is Liveness.alive, "its training run lives"
    forget(core, lease)
    core.later(40)
    work(core)
    [event] = core.events(SIGNALLED)
    assert [one["pid"] for one in event.body["processes"]] == [left.pid]  # type: ignore[attr-defined]  # JSON
    assert machine.liveness(another) is Liveness.alive


def test_a_recorded_process_without_the_mark_is_never_signalled(
    core: SmallCore, launch: Launch
) -> None:
    lease = core.ask("ada")
    core.report(lease, ReportKind.started, process=launch())
    lease = core.lease(lease.id)
    forget(core, lease)
    core.later(100)
    work(core)
    assert (seen(lease), signals(core)) == (Liveness.alive, [])
    assert core.lease(lease.id).state is LeaseState.stopping


def test_a_governor_that_dies_before_the_signal_sends_it_after_its_restart(
    core: SmallCore, launch: Launch
) -> None:
    lease = run(core, launch)
    forget(core, lease)
    core.later(40)
    [intent] = [one for one in core.governor.intents() if one.kind == END]
    assert lease.process is not None
    core.governor.signalled(intent, (lease.process,), signal.SIGTERM, now=core.now)
    core.later(20)
    work(core)
    assert signals(core) == ["SIGTERM", "SIGKILL"], "the second is safe, whether the first came"
    until_gone(lease)


def test_servers_of_this_hub_are_told_from_namesakes_of_another(launch: Launch) -> None:
    names = {
        "JUPYTERHUB_USER": "ada",
        "JUPYTERHUB_SERVER_NAME": "",
        machine.ATTEMPT_MARK: "attempt-of-ada",
        "CUDA_VISIBLE_DEVICES": "GPU-1,GPU-2",
    }
    ours = launch(JUPYTERHUB_API_URL="http://127.0.0.1:1/hub/api", **names)
    launch(JUPYTERHUB_API_URL="http://127.0.0.1:2/hub/api", **names)
    found = machine.found_servers("http://127.0.0.1:1/hub/api")
    assert list(found) == [("ada", "")]
    assert found["ada", ""].process.pid == ours.pid
    assert found["ada", ""].devices == ("GPU-1", "GPU-2")
    assert found["ada", ""].attempt_id == "attempt-of-ada"
