"""`gpu-commons demo` as a process of a test, ended with everything that came of it."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from hub_ext.statedir import StateDir
from tests.support.hub import ROOT
from tests.support.web import call


@dataclass
class Demo:
    """A running demo, and what it has printed."""

    process: subprocess.Popen[str]
    state: Path
    printed: str
    took_s: float

    @property
    def url(self) -> str:
        """Address that was printed."""
        found = re.search(r"Open +(http://127\.0\.0\.1:\d+)", self.printed)
        assert found
        return found[1]

    @property
    def passwords(self) -> dict[str, str]:
        """Passwords that were printed, by name."""
        return dict(re.findall(r"Log in as (\S+) +password (\S+)", self.printed))

    def alive(self) -> list[str]:
        """Every process that has to do with this state directory."""
        return [" ".join(process.cmdline()) for process in _living(self.state)]

    def listening(self) -> list[int]:
        """Ports of this demo on which somebody answers."""
        return [port for port in StateDir(self.state).ports().values() if _answers(port)]

    def end(self, number: signal.Signals) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def edit_policy(self, *changes: tuple[str, str], seconds: float = 20) -> None:
        """Change the rules as a person does, in the file, and wait until they are in force."""
        file = self.state / "policy.yaml"
        text = file.read_text("utf-8")
        for former, latter in changes:
            assert former in text, former
            text = text.replace(former, latter)
        generation = self._health()["policy_generation"]
        draft = file.with_suffix(".draft")
        draft.write_text(text, "utf-8")
        draft.replace(file)
        deadline = time.monotonic() + seconds
        while self._health()["policy_generation"] == generation:
            assert time.monotonic() < deadline, self._health()
            time.sleep(0.1)

    def _health(self) -> dict[str, object]:
        answer: dict[str, object] = call("GET", f"{self.url}/services/gpu-commons/healthz").json
        return answer


@contextmanager
def running(state: Path, **settings: str) -> Iterator[Demo]:
    """Run a demo for the length of a `with` block; `settings` are variables of its processes."""
    began = time.monotonic()
    given = {name: value for name, value in os.environ.items() if "GPU_COMMONS" not in name}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "hub_ext", "demo", "--state", str(state)],
        cwd=state.parent,
        env={**given, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        demo = Demo(process, state, "", 0.0)
        try:
            assert process.stdout
            for line in process.stdout:
                demo.printed += line
                if "Ctrl-C" in line:
                    break
            demo.took_s = time.monotonic() - began
            assert "Ctrl-C" in demo.printed, demo.printed
            yield demo
        finally:
            process.kill()
            process.wait()
            for left in _living(state):
                with suppress(psutil.NoSuchProcess):
                    left.kill()


def _living(state: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            told = [*process.cmdline(), *process.environ().values()]
            if process.status() != "zombie" and any(str(state) in words for words in told):
                found.append(process)
    return found


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
