"""Programs that a test starts, waits for, ends and starts again, and that never outlive it.

They run below a cage (`tests/support/cage.py`): when the test ends or is killed, so do they and
all that came of them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
TAIL = 2500
LOOK_S = 0.05


class ProgramEndedError(Exception):
    """A program ended, or did not come up in time; its text ends with what it wrote last."""


@dataclass
class Order:
    """How one program is started, each time."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    pid: int = 0


@dataclass
class Processes:
    """All programs of one folder, by name; each writes to `NAME.log` there."""

    folder: Path
    _cage: subprocess.Popen[str] | None = field(default=None, repr=False)
    _orders: dict[str, Order] = field(default_factory=dict, repr=False)

    def start(
        self, name: str, *argv: str | Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a program under a name; `start_again` starts it in the same way later."""
        self._orders[name] = Order(tuple(map(str, argv)), dict(environment or {}))
        self.start_again(name)

    def start_again(self, name: str) -> None:
        """Start a program that has ended."""
        order = self._orders[name]
        assert not self.alive(name), f"{name} runs already"
        cage = self._caged()
        assert cage.stdin
        assert cage.stdout
        told = {
            "argv": order.argv,
            "env": {**os.environ, **order.environment},
            "cwd": str(self.folder),
            "output": str(self.log(name)),
        }
        cage.stdin.write(json.dumps(told) + "\n")
        cage.stdin.flush()
        order.pid = int(cage.stdout.readline())

    def pid(self, name: str) -> int:
        """Process id of a program that was started."""
        return self._orders[name].pid

    def alive(self, name: str) -> bool:
        """Whether a program runs."""
        pid = self._orders[name].pid
        with suppress(psutil.NoSuchProcess):
            return pid > 0 and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        return False

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """End a program, at once or as politely as the signal is, and see it gone."""
        if not self.alive(name):
            return
        os.kill(self._orders[name].pid, number)
        until = time.monotonic() + 30
        while self.alive(name):
            if time.monotonic() > until:
                raise ProgramEndedError(f"{name} lives 30 s after {number.name}{self.tail(name)}")
            time.sleep(LOOK_S)
        self._orders[name].pid = 0

    def end_politely(self, name: str) -> None:
        """Ask a program to end, and see it gone."""
        self.end(name, signal.SIGTERM)

    def wait(self, name: str, ready: Callable[[], bool], *, seconds: float) -> None:
        """Wait until a program is ready.

        Raises
        ------
        ProgramEndedError
            If it ends, or is not ready in time.
        """
        until = time.monotonic() + seconds
        while not ready():
            if not self.alive(name):
                raise ProgramEndedError(f"{name} ended while it started{self.tail(name)}")
            if time.monotonic() > until:
                raise ProgramEndedError(f"{name} is not ready after {seconds} s{self.tail(name)}")
            time.sleep(LOOK_S)

    def log(self, name: str) -> Path:
        """The file that a program writes to."""
        return self.folder / f"{name}.log"

    def tail(self, name: str) -> str:
        """What a program wrote last, to end an error with."""
        log = self.log(name)
        words = log.read_text(errors="replace")[-TAIL:] if log.exists() else ""
        return f"; the end of {log}:\n{words}"

    def all(self) -> list[psutil.Process]:
        """Everything that lives below the cage."""
        if self._cage is None:
            return []
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self._cage.pid).children(recursive=True)
        return []

    def close(self) -> None:
        """End everything, the state of programs notwithstanding: nothing here is kept."""
        if self._cage is None:
            return
        for process in self.all():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        with self._cage as cage:
            assert cage.stdin
            cage.stdin.close()
            try:
                cage.wait(30)
            finally:
                cage.kill()
        self._cage = None

    def _caged(self) -> subprocess.Popen[str]:
        if self._cage is None:
            self._cage = subprocess.Popen(
                [sys.executable, "-S", str(ROOT / "tests/support/cage.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        return self._cage
