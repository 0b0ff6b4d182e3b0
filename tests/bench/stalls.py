"""How long an event loop did not run, beside a loop that has nothing to do on the same machine."""

import asyncio
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

REST_S = 0.002


class Stalls:
    """Turns in the loop that is looked at; `worst_s` is the longest delay since it was taken."""

    def __init__(self) -> None:
        self._worst_s = 0.0

    async def watch(self) -> None:
        """Look for ever."""
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(REST_S)
            self._worst_s = max(self._worst_s, time.perf_counter() - begun - REST_S)

    def take(self) -> float:
        """Give the longest delay, in seconds, and begin anew."""
        worst_s, self._worst_s = self._worst_s, 0.0
        return worst_s


class IdleLoop:
    """A process whose loop only looks at itself: what it suffers is the machine's."""

    def __enter__(self) -> Self:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.stalls"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.take()
        return self

    def take(self) -> float:
        """Its longest delay since the last time, in seconds."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        return float(self._child.stdout.readline())

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._child.kill()
        self._child.communicate(timeout=30)


async def answer(stalls: Stalls) -> None:
    """Say the longest delay for each line that comes in, until the input ends."""
    looking = asyncio.create_task(stalls.watch())
    while await asyncio.to_thread(sys.stdin.readline):
        print(stalls.take(), flush=True)
    looking.cancel()


if __name__ == "__main__":
    asyncio.run(answer(Stalls()))
