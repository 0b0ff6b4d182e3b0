"""One container: its image is pulled, its process runs, and is started again as its pod says."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from . import faults
from .client import Manifest
from .leftovers import MARK, end_group, end_marked
from .objects import container_status, stamp

LONGEST_BACKOFF_S = 10
PULL_AGAIN_S = 2.0
NOT_STARTED = 128


class Owner(Protocol):
    """What a container needs of its pod."""

    home: Path
    uid: str
    policy: str

    @property
    def fault(self) -> str:
        """What is made to fail now."""

    @property
    def ending(self) -> bool:
        """Whether nothing is started again."""

    async def tell(self, phase: str) -> None:
        """Write the pod's state."""

    async def happened(self, reason: str, message: str, kind: str = "Normal") -> None:
        """Record an event of the pod."""

    async def forget_fault(self) -> None:
        """Take away the annotation of a fault that happens once."""


Prepare = Callable[[Manifest], Awaitable[tuple[list[str], Mapping[str, str]]]]
"""Reads the command and variables of a container."""


@dataclass
class Container:
    """One container of a pod; `status` is what the pod tells of it."""

    spec: Manifest
    pod: Owner
    prepare: Prepare
    shown: bool = True
    status: Manifest = field(default_factory=dict)
    _process: asyncio.subprocess.Process | None = None

    def __post_init__(self) -> None:
        self._set(state={"waiting": {"reason": "ContainerCreating"}})

    @property
    def name(self) -> str:
        """The container's name."""
        return str(self.spec["name"])

    @property
    def runs(self) -> bool:
        """Whether its process lives."""
        return self._process is not None

    @property
    def _mark(self) -> str:
        return f"{self.pod.uid}/{self.name}"

    def signal(self, number: signal.Signals) -> None:
        """Send its process a signal; SIGKILL also ends what that process started."""
        if self._process is None:
            return
        end_group(self._process.pid, number)
        if number == signal.SIGKILL:
            end_marked(self._mark)

    async def live(self) -> int:
        """Run until it is over, and return the last exit code."""
        await self._pull()
        argv, variables = await self.prepare(self.spec)
        restarts, backoff_s = 0, 1
        while True:
            code, end = await self._run(argv, variables, restarts)
            if self._is_over(code):
                return code
            if self.pod.fault == faults.MEMORY:
                await self.pod.forget_fault()
            restarts += 1
            waiting = {"reason": "CrashLoopBackOff", "message": f"back-off {backoff_s}s restarting"}
            self._set(state={"waiting": waiting}, lastState=end, restartCount=restarts)
            await self.pod.tell("Running")
            words = f"Back-off restarting failed container {self.name}"
            await self.pod.happened("BackOff", words, "Warning")
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)

    async def _pull(self) -> None:
        image = self.spec["image"]
        await self.pod.happened("Pulling", f'Pulling image "{image}"')
        reason = "ErrImagePull"
        while self.pod.fault == faults.IMAGE:
            waiting = {"reason": reason, "message": f'Back-off pulling image "{image}"'}
            self._set(state={"waiting": waiting})
            await self.pod.tell("Pending")
            failed = f'Failed to pull image "{image}": not found'
            await self.pod.happened("Failed", failed, "Warning")
            await self.pod.happened("BackOff", f'Back-off pulling image "{image}"')
            reason = faults.IMAGE
            await asyncio.sleep(PULL_AGAIN_S)

    async def _run(
        self, argv: list[str], variables: Mapping[str, str], restarts: int
    ) -> tuple[int, Manifest]:
        began = stamp()
        if self.pod.fault == faults.CRASH:
            argv = ["false"]
        code, why = NOT_STARTED, "StartError"
        if await self._start(argv, variables):
            assert self._process
            self._set(ready=True, state={"running": {"startedAt": began}}, restartCount=restarts)
            if self.shown:
                await self.pod.tell("Running")
            await self.pod.happened("Started", f"Started container {self.name}")
            code = await self._process.wait()
            end_marked(self._mark)
            self._process = None
            # A process that a signal ended has 128 and the signal's number.
            code = 128 - code if code < 0 else code
            why = "Error" if code else "Completed"
            why = faults.MEMORY if self.pod.fault == faults.MEMORY else why
        ended = {"exitCode": code, "reason": why, "startedAt": began, "finishedAt": stamp()}
        self._set(state={"terminated": ended})
        return code, {"terminated": ended}

    async def _start(self, argv: list[str], variables: Mapping[str, str]) -> bool:
        with (self.pod.home / f"{self.name}.log").open("ab") as log:
            try:
                if not argv:
                    raise FileNotFoundError("neither pod nor image names a command")
                self._process = await asyncio.create_subprocess_exec(
                    *argv,
                    env={**variables, MARK: self._mark},
                    cwd=self.pod.home,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                log.write(f"{error}\n".encode())
                return False
        return True

    def _is_over(self, code: int) -> bool:
        if not self.shown or self.pod.ending or self.pod.fault == faults.EVICTED:
            return True
        return self.pod.policy == "Never" or (self.pod.policy == "OnFailure" and code == 0)

    def _set(self, **news: object) -> None:
        self.status = container_status(self.name, self.spec["image"], self.status, **news)
