"""A process is recognised by pid and birth, and what a server leaves behind is found and ended."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hub_ext.lease import AttemptId, Liveness, ProcessRef
from spawner.process import (
    ATTEMPT_VARIABLE,
    end_left_behind,
    left_behind,
    liveness,
    process_ref,
)

SLEEPING = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


@contextmanager
def marked(code: str, attempt: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, ATTEMPT_VARIABLE: attempt}
    )
    try:
        time.sleep(0.2)
        yield process
    finally:
        process.kill()
        process.wait(5)


def test_a_living_process_is_alive_and_a_reused_pid_is_not_it() -> None:
    ref = process_ref(os.getpid())
    assert ref is not None
    assert liveness(ref) is Liveness.alive
    earlier = ProcessRef(pid=ref.pid, created_us=ref.created_us - 60_000_000)
    assert liveness(earlier) is Liveness.gone


def test_a_slewed_clock_does_not_make_it_another_process() -> None:
    ref = process_ref(os.getpid())
    assert ref is not None
    shifted = ProcessRef(pid=ref.pid, created_us=ref.created_us + 1_000_000)
    assert liveness(shifted) is Liveness.alive


def test_a_zombie_is_gone() -> None:
    with marked("pass", "attempt-zombie") as process:
        time.sleep(0.3)
        ref = process_ref(process.pid)
        assert ref is not None
        assert liveness(ref) is Liveness.gone


def test_nothing_is_found_behind_a_pid_that_is_not_there() -> None:
    assert process_ref(2**22 + 1) is None
    assert liveness(ProcessRef(pid=2**22 + 1, created_us=1)) is Liveness.gone


def test_what_carries_the_mark_is_ended_even_if_it_does_not_listen() -> None:
    with (
        marked(STUBBORN, "attempt-a") as ours,
        marked(SLEEPING, "attempt-b") as other,
    ):
        assert [one.pid for one in left_behind(AttemptId("attempt-a"))] == [ours.pid]
        assert end_left_behind(AttemptId("attempt-a"), grace_s=0.5)
        assert ours.wait(5) == -9
        assert other.poll() is None


def test_nothing_left_is_seen_at_once() -> None:
    started = time.monotonic()
    assert end_left_behind(AttemptId("attempt-nobody"), grace_s=30)
    assert time.monotonic() - started < 5
