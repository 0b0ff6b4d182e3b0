"""Servers as local processes: environment, workspace, user, and an end that is really one."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from hub_ext.lease import AttemptId, Environment, Liveness, ProcessRef
from spawner.local import GovernedLocalSpawner
from spawner.process import ATTEMPT_VARIABLE, process_ref
from spawner.refusal import SpawnRefusal
from spawner.trace import Trace
from tests.spawner.conftest import TINY, MakeSpawner
from tests.support.governor import FakeGovernor

GPU = {"profile": "mig-small"}
LEAVES_A_RUN = f"""
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
os.execv(sys.executable, [sys.executable, {str(TINY)!r}])
"""


class StopRaises(GovernedLocalSpawner):
    """A spawner whose stop() fails, as a real one does when a cluster does not answer."""

    async def stop(self, now: bool = False) -> None:
        raise RuntimeError("stop failed")


def environ(spawner: GovernedLocalSpawner) -> dict[str, str]:
    found: dict[str, str] = psutil.Process(spawner.pid).environ()
    return found


async def hub_stop(spawner: GovernedLocalSpawner) -> None:
    """What the hub does to stop a server, hook and state included."""
    try:
        if await spawner.poll() is None:
            await spawner.stop()
    except RuntimeError:
        pass
    finally:
        await spawner.run_post_stop_hook()
        spawner.clear_state()


def test_a_server_runs_in_its_private_workspace_as_its_person(
    make_spawner: MakeSpawner, tmp_path: Path
) -> None:
    spawner = make_spawner("../ada", user_options=GPU)
    asyncio.run(spawner.start())
    home = tmp_path / "state" / "home" / "_2e_2e_2fada" / "default"
    assert Path(f"/proc/{spawner.pid}/cwd").resolve() == home
    seen = environ(spawner)
    assert seen["HOME"] == str(home)
    assert seen["USER"] == "../ada"
    assert seen["GPU_COMMONS_SIM_FILE"] == str(tmp_path / "state" / "sim" / "lease-1.json")
    assert (tmp_path / "state" / "sim").is_dir()


def test_a_file_where_the_workspace_belongs_is_a_refusal_and_no_fault_of_the_hub(
    make_spawner: MakeSpawner, tmp_path: Path
) -> None:
    home = tmp_path / "state" / "home" / "ada"
    home.mkdir(parents=True)
    (home / "default").write_text("put here by ada")
    spawner = make_spawner("ada", user_options=GPU)
    with pytest.raises(SpawnRefusal) as refusal:
        asyncio.run(spawner.start())
    assert refusal.value.status_code == 409
    assert "workspace of this server cannot be used: File exists" in str(refusal.value)


def test_a_name_that_no_process_can_carry_is_a_refusal_and_no_fault_of_the_hub(
    make_spawner: MakeSpawner,
) -> None:
    spawner = make_spawner("a\0b", user_options=GPU)
    with pytest.raises(SpawnRefusal, match="could not be started on this machine") as refusal:
        asyncio.run(spawner.start())
    assert refusal.value.status_code == 409


def test_a_pinned_environment_is_used_and_nothing_of_the_hubs_own(
    make_spawner: MakeSpawner,
    governor: FakeGovernor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefix = tmp_path / "env"
    (prefix / "bin").mkdir(parents=True)
    script = prefix / "bin" / "jupyterhub-singleuser"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {TINY} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", "/of/the/hub")
    governor.environment = Environment(name="torch", prefix=str(prefix), digest="sha256:1")
    spawner = make_spawner(user_options=GPU)
    asyncio.run(spawner.start())
    assert spawner.cmd == [str(script)]
    time.sleep(0.3)
    seen = environ(spawner)
    assert "PYTHONPATH" not in seen
    assert seen["VIRTUAL_ENV"] == str(prefix)
    assert seen["PATH"].startswith(f"{prefix}/bin:")
    shell = next(one for one in spawner.get_args() if "terminado_settings" in one)
    assert shell.startswith("--ServerApp.terminado_settings=shell_command=/")
    spawner.args = ["--ServerApp.terminado_settings=shell_command=/bin/zsh"]
    assert shell not in spawner.get_args()

    asyncio.run(hub_stop(spawner))
    governor.environment = None
    asyncio.run(spawner.start())
    assert spawner.cmd == [sys.executable, str(TINY)]


def test_an_environment_with_python_alone_is_run_by_module(
    make_spawner: MakeSpawner, governor: FakeGovernor, tmp_path: Path
) -> None:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    governor.environment = Environment(name="a", prefix=str(tmp_path / "env"), digest="sha256:1")
    spawner = make_spawner(user_options=GPU)
    asyncio.run(spawner.start())
    assert spawner.cmd[1:] == ["-m", "jupyterhub.singleuser"]


def test_an_environment_that_is_gone_is_a_refusal(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    governor.environment = Environment(name="torch", prefix="/gone", digest="sha256:1")
    spawner = make_spawner(user_options=GPU)
    with pytest.raises(SpawnRefusal, match="/gone holds no Python"):
        asyncio.run(spawner.start())
    asyncio.run(spawner.run_post_stop_hook())
    assert governor.wait_for_reports(1)[0].liveness is Liveness.gone


def test_a_system_user_that_does_not_exist_is_a_refusal(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner("no-such-user-here", user_options=GPU, os_users="system")
    with pytest.raises(SpawnRefusal, match="no operating-system user 'no-such-user-here'"):
        asyncio.run(spawner.start())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_system_user_owns_its_server(make_spawner: MakeSpawner) -> None:
    spawner = make_spawner("nobody", user_options=GPU, os_users="system", cmd=["/bin/sleep", "60"])
    asyncio.run(spawner.start())
    assert psutil.Process(spawner.pid).username() == "nobody"
    assert "--allow-root" not in spawner.get_args()


def test_nobody_gets_a_server_of_root_by_signing_in_under_that_name(
    make_spawner: MakeSpawner,
) -> None:
    spawner = make_spawner("root", user_options=GPU, os_users="system", cmd=["/bin/sleep", "60"])
    with pytest.raises(SpawnRefusal, match="No server runs as the operating-system user 'root'"):
        asyncio.run(spawner.start())
    assert spawner.pid == 0
    assert "--allow-root" not in spawner.get_args()


def test_root_says_that_it_is_meant(make_spawner: MakeSpawner) -> None:
    spawner = make_spawner()
    assert ("--allow-root" in spawner.get_args()) == (os.geteuid() == 0)
    spawner.args = ["--allow-root"]
    assert spawner.get_args() == ["--allow-root"]


def test_what_is_not_enforced_is_said(make_spawner: MakeSpawner) -> None:
    shared = " ".join(make_spawner().cautions())
    assert "share one operating-system user" in shared
    assert "can read the keys with which the GPUs are administered" in shared
    assert "a hint, not a barrier" in shared
    assert "does not enforce them" in shared
    assert "a hint, not a barrier" in " ".join(make_spawner(os_users="system").cautions())


# -- ends -------------------------------------------------------------------------------------


def test_what_a_server_left_behind_ends_with_it(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options=GPU, cmd=[sys.executable, "-c", LEAVES_A_RUN])

    async def story() -> list[psutil.Process]:
        await spawner.start()
        children: list[psutil.Process] = []
        while not children:
            await asyncio.sleep(0.05)
            children = psutil.Process(spawner.pid).children()
        assert children[0].environ()[ATTEMPT_VARIABLE] == governor.asks[0].attempt_id
        await hub_stop(spawner)
        return children

    for child in asyncio.run(story()):
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert governor.wait_for_reports(2)[1].liveness is Liveness.gone


def test_a_server_that_dies_by_itself_is_reported_with_its_exit_code(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    spawner = make_spawner(user_options=GPU, cmd=[sys.executable, "-c", "raise SystemExit(3)"])

    async def story() -> None:
        await spawner.start()
        assert await spawner.wait_for_death(10)
        await hub_stop(spawner)

    asyncio.run(story())
    ended = governor.wait_for_reports(2)[1]
    assert (ended.liveness, ended.exit_code, ended.asked) == (Liveness.gone, 3, False)


def test_stop_raises_the_process_stays_known_and_no_second_one_starts(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    first = make_spawner(user_options=GPU, kind=StopRaises)

    async def story() -> tuple[int, Any]:
        await first.start()
        pid = first.pid
        await hub_stop(first)
        # The hub makes a new spawner from the state that it kept.
        state = first.get_state()
        second = make_spawner(user_options=GPU, kind=StopRaises)
        second.load_state(state)
        second.clear_state()
        with pytest.raises(SpawnRefusal):
            await second.start()
        assert await second.poll() is None
        await hub_stop(second)
        return pid, second.get_state()

    pid, state = asyncio.run(story())
    assert psutil.pid_exists(pid)
    assert governor.ended()[0].liveness is Liveness.alive
    assert len(governor.grants) == 1, "no unit is free while the process lives"
    assert governor.asks[1].former is Liveness.alive

    # With a stop() that works again, the refused start itself ends the former server.
    third = make_spawner(user_options=GPU)
    third.load_state(state)
    third.clear_state()

    async def again() -> None:
        with pytest.raises(SpawnRefusal):
            await third.start()
        await hub_stop(third)
        assert third.client().outbox.drain(5)
        assert governor.grants == {}, "the former attempt was reported gone"
        third.clear_state()
        await third.start()

    asyncio.run(again())
    assert third.pid != pid
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert len(governor.grants) == 1


def test_a_former_server_is_not_doubled_while_the_governor_is_away(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    first = make_spawner(user_options={"profile": "cpu"}, kind=StopRaises)
    second = make_spawner(user_options={"profile": "cpu"}, ask_timeout=0.2)

    async def story() -> None:
        await second.offers_form()
        await first.start()
        await hub_stop(first)
        second.load_state(first.get_state())
        second.clear_state()
        with governor.away(), pytest.raises(SpawnRefusal, match="former server still runs"):
            await second.start()

    asyncio.run(story())


def test_after_a_hub_restart_a_reused_pid_is_neither_polled_nor_signalled(
    make_spawner: MakeSpawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = process_ref(os.getpid())
    assert ours is not None
    earlier = ProcessRef(pid=ours.pid, created_us=ours.created_us - 3_600_000_000)
    trace = Trace(attempt_id=AttemptId("attempt-1"), process=earlier, launched=True)
    spawner = make_spawner()
    spawner.load_state({"pid": ours.pid, "gpu_commons": {"trace": trace.model_dump()}})
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _pid, sig: sent.append(sig))
    assert asyncio.run(spawner.poll()) == 0
    asyncio.run(spawner.stop())
    assert sent == []


def test_no_signal_ever_goes_to_the_hubs_own_group(
    make_spawner: MakeSpawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _pid, sig: sent.append(sig))
    spawner = make_spawner()
    assert spawner.pid == 0
    assert asyncio.run(spawner._signal(signal.SIGTERM)) is False
    assert sent == []


# -- names ------------------------------------------------------------------------------------


def test_a_renamed_server_keeps_its_files(make_spawner: MakeSpawner, tmp_path: Path) -> None:
    spawner = make_spawner("ada", "old-name", user_options=GPU)
    asyncio.run(spawner.start())
    home = tmp_path / "state" / "home" / "ada"
    (home / "old-name" / "work.ipynb").write_text("{}")
    asyncio.run(hub_stop(spawner))
    asyncio.run(spawner.rename("old-name", "new-name"))
    assert (home / "new-name" / "work.ipynb").exists()
    (home / "third").mkdir()
    with pytest.raises(SpawnRefusal, match="earlier server named third"):
        asyncio.run(spawner.rename("new-name", "third"))


def test_servers_of_one_person_have_workspaces_of_their_own(
    make_spawner: MakeSpawner, governor: FakeGovernor
) -> None:
    one, two = (make_spawner("ada", name, user_options=GPU) for name in ("", "second"))
    asyncio.run(one.start())
    asyncio.run(two.start())
    assert environ(one)["HOME"] != environ(two)["HOME"]
    assert environ(one)["CUDA_VISIBLE_DEVICES"] != environ(two)["CUDA_VISIBLE_DEVICES"]
    assert {grant.key.server for grant in governor.grants.values()} == {"", "second"}
