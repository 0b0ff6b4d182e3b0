import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hub_ext.errors import GpuCommonsError
from hub_ext.statedir import StateDir


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_state_directory_is_private_even_where_it_was_not(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    state = StateDir(tmp_path / "state")
    assert (mode(state.path), mode(state.tokens)) == (0o700, 0o700)


def test_a_token_is_made_once_and_kept(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    first = state.token("governor")
    assert re.fullmatch(r"[0-9a-f]{64}", first)
    assert StateDir(tmp_path).token("governor") == first
    assert state.token("spawner") != first
    assert mode(state.token_file("governor")) == 0o600


def test_a_token_file_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    state.token("agent")
    state.token_file("agent").chmod(0o644)
    state.token("agent")
    assert mode(state.token_file("agent")) == 0o600


def test_a_damaged_token_is_named_and_left_alone(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    state.token_file("governor").write_text("short")
    with pytest.raises(GpuCommonsError, match="governor holds no token"):
        state.token("governor")
    assert state.token_file("governor").read_text() == "short"


def test_a_port_is_kept_for_the_next_start(tmp_path: Path) -> None:
    first = StateDir(tmp_path).port("governor")
    again = StateDir(tmp_path)
    assert again.port("governor") == first
    assert again.port("hub") != first
    assert set(again.ports()) == {"governor", "hub"}
    assert mode(again.run_file) == 0o600


def test_a_port_that_a_stranger_took_is_replaced(tmp_path: Path) -> None:
    first = StateDir(tmp_path).port("governor")
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", first))
        stranger.listen()
        second = StateDir(tmp_path).port("governor")
    assert second != first
    assert StateDir(tmp_path).ports() == {"governor": second}


def test_a_port_that_our_own_leaving_process_holds_is_kept(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    port = state.port("governor")
    code = (
        "import socket; s = socket.socket(); "
        f"s.bind(('127.0.0.1', {port})); s.listen(); print('up', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "GPU_COMMONS_STATE": str(state.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as leaving:
        assert leaving.stdout
        leaving.stdout.readline()
        assert state.port("governor") == port
        leaving.kill()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"ports": 7}', '{"ports": {"governor": "x"}}'])
def test_a_damaged_run_file_costs_only_the_ports(tmp_path: Path, text: str) -> None:
    state = StateDir(tmp_path)
    state.run_file.write_text(text)
    port = state.port("governor")
    assert state.ports() == {"governor": port}


def test_notes_are_added_to_what_is_there(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    state.note(hub="hub")
    port = state.port("hub")
    state.note(policy="p.yaml")
    assert state.run() == {"hub": "hub", "ports": {"hub": port}, "policy": "p.yaml"}
