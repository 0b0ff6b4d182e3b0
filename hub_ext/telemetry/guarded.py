"""NVML behind a child process that can be ended: a call that hangs or crashes is unknown here.

It never waits for the child. It starts no second one while the first cannot be ended.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Literal, NamedTuple

from pydantic import ValidationError

from ..i18n import _
from ..lease import Device, Inventory, WatchList
from .sample import Reading, absent_sample

LATE_PERIODS = 3
START_S = 10.0
"""Loading the driver and the first round may take so long without being called a hang."""

FIRST_REST_S = 1.0
LONGEST_REST_S = 300.0
"""Rest before the child is started again; doubles each time, as ending monitors in a loop is
known to upset a driver's firmware."""


class _Beat(NamedTuple):
    """The newest line of the child, and when it came by a clock that never steps."""

    reading: Reading
    at_s: float


class GuardedNvml:
    """A reader whose NVML runs in a child process.

    Parameters
    ----------
    node
        Name under which this agent reports.
    period_s
        Seconds between two lines of the child.
    environment
        Variables added to the child's.
    """

    source: Literal["nvml"] = "nvml"
    floor_s = 5.0
    """Below that, reading the driver is known to slow the work that it measures."""

    def __init__(
        self,
        *,
        node: str,
        period_s: float,
        environment: Mapping[str, str] | None = None,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._period_s = period_s
        self._environment = dict(environment or {})
        self._steady = steady
        self._child: subprocess.Popen[bytes] | None = None
        self._started_s = 0.0
        self._not_before_s = 0.0
        self._rest_s = FIRST_REST_S
        self._ending = False
        self._beat: _Beat | None = None
        self._given: _Beat | None = None
        self._known: tuple[Device, ...] = ()
        self._reason = ""

    def read(self, watch: WatchList, now: datetime) -> tuple[Reading, ...]:  # noqa: ARG002 - the driver knows no leases
        """Give the child's newest reading; nothing before there is anything to say."""
        self._supervise()
        beat = self._beat
        if beat is not None and self._steady() - beat.at_s <= self._late_s:
            fresh, self._given = beat is not self._given, beat
            if beat.reading.inventory.devices:
                self._known = beat.reading.inventory.devices
            return (beat.reading if fresh else Reading(inventory=beat.reading.inventory),)
        return (self._absent(now),) if self._reason else ()

    def close(self) -> None:
        """End the child, without waiting for one that cannot be ended."""
        child = self._child
        if child is None:
            return
        child.terminate()
        try:
            child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            child.kill()

    @property
    def _late_s(self) -> float:
        return LATE_PERIODS * self._period_s

    def _absent(self, now: datetime) -> Reading:
        inventory = Inventory(
            node=self._node, source=self.source, at=now, devices=(), problem=self._reason
        )
        return Reading(
            inventory=inventory,
            devices=tuple(absent_sample(one.id, now, self._reason) for one in self._known),
        )

    def _supervise(self) -> None:
        """Bring the child one step nearer to running. Never waits."""
        if self._child is None:
            if self._steady() >= self._not_before_s:
                self._start()
            return
        status = self._child.poll()
        if status is not None:
            self._over(status)
        elif self._silent_s() > 0 and not self._ending:
            self._ending = True
            self._reason = _("NVML does not answer; its reader was ended")
            self._child.kill()
        elif self._ending:
            # A process in an uninterruptible call outlives SIGKILL; a second one would join it.
            self._reason = _("NVML does not answer and its reader cannot be ended; look at the GPU")

    def _silent_s(self) -> float:
        """Seconds by which the child's next line is overdue; 0 or less when it is not."""
        if self._beat is not None and self._beat.at_s >= self._started_s:
            return self._steady() - self._beat.at_s - self._late_s
        return self._steady() - self._started_s - max(self._late_s, START_S)

    def _over(self, status: int) -> None:
        if not self._ending:
            problem = self._beat.reading.inventory.problem if self._beat else ""
            self._reason = problem or _("the reader of NVML ended (status {status})").format(
                status=status
            )
        self._child, self._ending, self._beat = None, False, None
        self._not_before_s = self._steady() + self._rest_s
        self._rest_s = min(self._rest_s * 2, LONGEST_REST_S)

    def _start(self) -> None:
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        # The child talks to a driver only; it has no use for the agent's token.
        plain = {name: text for name, text in os.environ.items() if "TOKEN" not in name}
        command = [sys.executable, "-P", "-m", f"{__package__}.nvml_child"]
        try:
            self._child = subprocess.Popen(  # noqa: S603 - our own module by our own interpreter
                [*command, "--node", self._node, "--period", str(self._period_s)],
                env={**plain, "PYTHONPATH": path, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
        except OSError as error:
            self._reason = _("the reader of NVML cannot be started: {why}").format(
                why=error.strerror
            )
            self._not_before_s = self._steady() + self._rest_s
            return
        self._started_s = self._steady()
        threading.Thread(
            target=self._listen, args=(self._child.stdout,), name="nvml-lines", daemon=True
        ).start()

    def _listen(self, lines: IO[bytes]) -> None:
        """Keep the newest line; runs in a thread that ends with the child."""
        with lines:
            for line in lines:
                try:
                    reading = Reading.model_validate_json(line)
                except ValidationError:
                    continue
                self._beat = _Beat(reading, self._steady())
                if reading.inventory.devices:
                    self._rest_s = FIRST_REST_S


def driver_found() -> bool:
    """Whether this machine has an NVIDIA driver, be it in order or not."""
    marks = ("/proc/driver/nvidia/version", "/dev/nvidiactl")
    return any(Path(mark).exists() for mark in marks) or shutil.which("nvidia-smi") is not None
