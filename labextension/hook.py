"""Runs the person's own program before an announced stop, once a notice and for a limited time.

It decides nothing: the stop comes when it was announced, whatever the program does.
"""

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from hub_ext.lease import LeaseState, LeaseView, Notice

_LOG = logging.getLogger(__name__)

GRACE_S = 3.0
"""After the limit it is asked to end; so long later it is ended."""

SAVING_S = 5.0
"""Pages have so long to save what is open, where a notice is shorter than the program's limit."""

MARGIN_S = 5.0
"""The program is over so long before the stop: what it wrote shall be on the disk."""


class HookState(StrEnum):
    """How far the person's program is, for the page."""

    none = "none"
    waits = "waits"
    runs = "runs"
    done = "done"
    failed = "failed"
    too_long = "too-long"
    unusable = "unusable"
    """There is a file, but it is not theirs alone or cannot be run."""


class BeforeStop:
    """Follows the notices of one server and runs the program in time.

    Parameters
    ----------
    program
        The file; where there is none, nothing is done.
    limit_s
        Longest run.
    told
        Called when the state has changed.
    """

    def __init__(self, program: Path, limit_s: float, told: Callable[[HookState], None]) -> None:
        self._program = program
        self._limit_s = limit_s
        self._told = told
        self._for: Notice | None = None
        self._ran_for: Notice | None = None
        self._task: asyncio.Task[None] | None = None
        self._running = False

    def look(self, view: LeaseView) -> None:
        """Take a view of the lease: a new notice sets a time, one that is gone takes it back."""
        lease = view.lease
        notice = lease.notice if lease is not None else None
        if lease is None or lease.state is LeaseState.stopping:
            # The end has come sooner than was said: what is under way goes on as it can.
            return
        if notice is not None and notice.is_advice:
            notice = None
        if notice == self._for:
            return
        self._for = notice
        if self._task is not None and not self._running:
            self._task.cancel()
            self._task = None
        if notice is None or notice == self._ran_for or self._running:
            if not self._running:
                self._told(HookState.none)
            return
        state = usable(self._program)
        self._told(state)
        if state is HookState.waits:
            left = (notice.stops_at - view.now) / timedelta(seconds=1)
            # Pages save their documents at the notice: the program comes after that.
            wait_s = max(min(SAVING_S, left / 4), left - self._limit_s - MARGIN_S)
            given = {**_of(notice), "GPU_COMMONS_LEASE_ID": str(lease.id)}
            self._task = asyncio.get_running_loop().create_task(self._run(notice, wait_s, given))

    async def _run(self, notice: Notice, wait_s: float, given: Mapping[str, str]) -> None:
        await asyncio.sleep(wait_s)
        self._running, self._ran_for = True, notice
        self._told(HookState.runs)
        try:
            self._told(await self._carry_out(given))
        finally:
            self._running = False

    async def _carry_out(self, given: Mapping[str, str]) -> HookState:
        if usable(self._program) is not HookState.waits:
            return HookState.unusable
        try:
            process = await asyncio.create_subprocess_exec(
                str(self._program),
                stdin=asyncio.subprocess.DEVNULL,
                cwd=Path.home(),
                env={**os.environ, **given},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            # Words with a NUL in them cannot be handed to a program.
            _LOG.warning("GPU Commons: %s cannot be run: %s", self._program, error)
            return HookState.failed
        try:
            code = await asyncio.wait_for(process.wait(), self._limit_s)
        except TimeoutError:
            await _end(process)
            _LOG.warning("GPU Commons: %s was ended after its time", self._program)
            return HookState.too_long
        _LOG.info("GPU Commons: %s ended with %s", self._program, code)
        return HookState.done if code == 0 else HookState.failed


def usable(program: Path) -> HookState:
    """Whether a file is the person's own program, to be run on their behalf."""
    try:
        found = program.stat()
    except OSError:
        return HookState.none
    others_write = stat.S_IWGRP | stat.S_IWOTH
    mine = found.st_uid in {os.getuid(), 0} and not found.st_mode & others_write
    runs = stat.S_ISREG(found.st_mode) and os.access(program, os.X_OK)
    return HookState.waits if mine and runs else HookState.unusable


def _of(notice: Notice) -> dict[str, str]:
    return {
        "GPU_COMMONS_STOP_CAUSE": notice.cause.value,
        "GPU_COMMONS_STOP_REASON": notice.reason.message,
        "GPU_COMMONS_STOPS_AT": notice.stops_at.isoformat(),
    }


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the program and what it started: it has a process group of its own."""
    for signal_number in (15, 9):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S)
            return
