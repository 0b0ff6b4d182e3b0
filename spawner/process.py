"""Processes of this machine: which one is meant, whether it lives, and what a server left behind.

A pid alone proves nothing, since the kernel uses it again; a process is named by pid and birth.
"""

import os
import signal
import time
from contextlib import suppress

import psutil

from hub_ext.lease import AttemptId, Liveness, ProcessRef

ATTEMPT_VARIABLE = "GPU_COMMONS_ATTEMPT_ID"
"""In every server and what it starts, so that survivors of a server can be found."""

_BIRTH_TOLERANCE_US = 2_000_000
"""psutil derives births from the boot time, which the kernel shifts when the clock is slewed. No
pid comes round again within two seconds."""


def process_ref(pid: int) -> ProcessRef | None:
    """Name a living process so that it can be recognised later; None where there is none."""
    with suppress(psutil.Error):
        return ProcessRef(pid=pid, created_us=int(psutil.Process(pid).create_time() * 1_000_000))
    return None


def liveness(ref: ProcessRef) -> Liveness:
    """Whether exactly this process lives. A zombie is gone; what may not be seen is unknown."""
    try:
        process = psutil.Process(ref.pid)
        born_us = int(process.create_time() * 1_000_000)
        if abs(born_us - ref.created_us) > _BIRTH_TOLERANCE_US:
            return Liveness.gone
        gone = process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return Liveness.gone
    except psutil.Error:
        return Liveness.unknown
    return Liveness.gone if gone else Liveness.alive


def left_behind(attempt_id: AttemptId) -> list[psutil.Process]:
    """Find the processes that carry an attempt's mark in their environment.

    Reads every process that this user may read. A program can shed the mark; whoever needs proof
    against that separates users by accounts or containers.
    """
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if (
                process.pid != os.getpid()
                and process.status() != psutil.STATUS_ZOMBIE
                and process.environ().get(ATTEMPT_VARIABLE) == attempt_id
            ):
                found.append(process)
    return found


def end_left_behind(attempt_id: AttemptId, *, grace_s: float) -> bool:
    """End what a server left behind: ask, wait, then make it. True when nothing is left.

    Blocks for up to twice the grace. A training run that was started with `nohup` would keep
    its GPU for ever while the ledger calls it free.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = left_behind(attempt_id)
        if not left:
            return True
        for process in left:
            with suppress(psutil.Error):
                process.send_signal(number)
        _wait_for_end(left, grace_s)
    return not left_behind(attempt_id)


def _wait_for_end(processes: list[psutil.Process], within_s: float) -> None:
    # Not psutil's own wait: it would take a child's exit status away from the hub's Popen.
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and any(_lives(process) for process in processes):
        time.sleep(0.05)


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False
