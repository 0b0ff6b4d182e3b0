"""The demo's processes: starts the hub, and ends everything that came of it and nothing else.

On Linux this process inherits every orphan below it, and the hub is told when this process dies,
so that not even SIGKILL leaves a demo behind.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

PATIENCE_S = 20.0
"""How long the hub may take to stop its servers, services and proxy before it is made to."""


class Household:
    """The hub of one demo and all that lives below it.

    Parameters
    ----------
    output
        File that takes what hub, proxy and services write.
    """

    def __init__(self, output: Path) -> None:
        self.output = output
        self._hub: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        """Start the hub in a session of its own: Ctrl-C in the terminal is for us alone."""
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        with self.output.open("wb") as output:
            self._hub = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                command,
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent(os.getpid()),  # noqa: PLW1509 - one thread here
            )

    def running(self) -> bool:
        """Whether the hub's process lives."""
        return self._hub is not None and self._hub.poll() is None

    def tail(self, lines: int = 15) -> str:
        """Return the end of what was written, for a start that failed."""
        text = self.output.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def stop(self, waiting: Callable[[float], bool]) -> None:
        """End the hub as it wants to be ended, then whatever is left.

        Parameters
        ----------
        waiting
            Called with the seconds so far; False ends the patience.
        """
        if self._hub is None:
            return
        if self.running():
            self._hub.terminate()
        began = time.monotonic()
        while self.running() and time.monotonic() - began < PATIENCE_S:
            if not waiting(time.monotonic() - began):
                break
            time.sleep(0.1)
        _end_descendants()
        self._hub.wait()


def _end_descendants(grace_s: float = 2.0) -> None:
    """End every process below this one, asked first, then made; orphans come to us."""
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    while left := _descendants():
        late = time.monotonic() > deadline
        for process in left:
            if late or process.pid not in asked:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL if late else signal.SIGTERM)
            asked.add(process.pid)
        psutil.wait_procs(left, timeout=0.1)
        _reap()


def _descendants() -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [
            process
            for process in psutil.Process().children(recursive=True)
            if process.is_running() and _status(process) != psutil.STATUS_ZOMBIE
        ]
    return []


def _status(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return str(process.status())
    return str(psutil.STATUS_ZOMBIE)


def _reap() -> None:
    """Collect adopted orphans that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _end_with_parent(parent: int) -> Callable[[], None] | None:
    """What the hub does first: ask the kernel for SIGTERM when the demo dies."""
    if sys.platform != "linux":
        return None

    def ask() -> None:
        _prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != parent:  # It died before the kernel was asked.
            os.kill(os.getpid(), signal.SIGTERM)

    return ask


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
