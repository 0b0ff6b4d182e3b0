"""Starts processes for a test and ends all that came of them, whatever happens to the test.

It reads one JSON order a line from its standard input and answers with the process's id. As a
"subreaper" of Linux it inherits every orphan, so at the end of its input nothing outlives it.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def descendants() -> set[int]:
    """Ids of all processes below this one."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found: set[int] = set()
    layer = [os.getpid()]
    while layer:
        layer = [child for parent in layer for child in parents.get(parent, [])]
        found.update(layer)
    return found


def reap() -> None:
    """Collect what has ended, so that a dead process does not look alive."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.02)


def end_all(grace_s: float) -> None:
    """Ask everything to end, then make it."""
    for pid in descendants():
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while descendants() and time.monotonic() < deadline:
        time.sleep(0.05)
    while left := descendants():
        for pid in left:
            _signal(pid, signal.SIGCONT)
            _signal(pid, signal.SIGKILL)
        time.sleep(0.05)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def main() -> None:
    """Serve orders until the input ends."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    started = []
    threading.Thread(target=reap, daemon=True).start()
    for line in sys.stdin:
        order = json.loads(line)
        with Path(order["output"]).open("ab") as output:
            process = subprocess.Popen(
                order["argv"],
                env=order["env"],
                cwd=order["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        sys.stdout.write(f"{process.pid}\n")
        sys.stdout.flush()
    end_all(grace_s=3.0)


if __name__ == "__main__":
    main()
