"""The demo as a person runs it: four log-ins, a pinned server, and nothing left afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hub_ext.statedir import StateDir
from tests.support.demo import Demo, running
from tests.support.hub import PROXY, ROOT
from tests.support.web import Person, call

pytestmark = [pytest.mark.hub, pytest.mark.timeout(420)]


def _within(seconds: float, demo: Demo) -> bool:
    """Whether everything of a demo is gone in time."""
    deadline = time.monotonic() + seconds
    while demo.alive() or demo.listening():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def test_the_demo_prints_what_works_and_leaves_nothing(tmp_path: Path) -> None:
    assert PROXY.exists(), "run `npm ci` first"
    state = tmp_path / "demo"
    with running(state) as demo:
        assert set(demo.passwords) == {"scientist-1", "scientist-2", "lead", "admin"}
        for name, password in demo.passwords.items():
            answer = Person(demo.url, name).log_in(password)
            assert answer.status == 200, (name, answer.status)
            assert "Invalid username or password" not in answer.text
        scientist = Person(demo.url, "scientist-1")
        scientist.log_in(demo.passwords["scientist-1"])
        assert "Small slice" in scientist.get("/hub/spawn").text
        _start(scientist, demo)
        assert str(state / "env/vision-env/bin/python") in "\n".join(demo.alive())
        with pytest.raises(subprocess.CalledProcessError) as second:
            _another(state)
        assert f"runs already in {state}, at {demo.url}" in second.value.stderr
        first, ports = demo, StateDir(state).ports()
        assert demo.end(signal.SIGINT) == 0
        assert (demo.alive(), demo.listening()) == ([], [])

    with running(state) as demo:
        assert demo.url == first.url
        assert StateDir(state).ports() == ports
        assert demo.passwords == first.passwords
        assert len(demo.alive()) >= 4
        demo.end(signal.SIGKILL)
        # The kernel tells the hub, and the hub ends what it has started.
        assert _within(30, demo), (demo.alive(), demo.listening())


def _start(person: Person, demo: Demo) -> None:
    """Start a pinned server with the form and wait until Lab answers."""
    fields = {"profile": "small-slice", "team": "vision", "project": "cell-atlas"}
    answer = person.spawn(fields)
    assert answer.status == 200, answer.text[-2000:]
    deadline = time.monotonic() + 90
    # A page first: only a page goes through the hub's OAuth, the server's API alone is a 403.
    lab = f"/user/{person.name}/lab"
    while not (answer := person.get(lab)).url.endswith(lab) or answer.status != 200:
        assert time.monotonic() < deadline, (answer, (demo.state / "hub/output.txt").read_text())
        time.sleep(0.5)
    assert "kernels" in person.get(f"/user/{person.name}/api/status").json
    assert call("GET", f"{demo.url}/user/{person.name}/api/status").status == 403


def _another(state: Path) -> None:
    subprocess.run(
        [sys.executable, "-P", "-m", "hub_ext", "demo", "--state", str(state)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
