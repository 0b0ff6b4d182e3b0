"""Runs the core in its one thread, with one `now` for each act, and wakes who waits for it.

A slow disk stalls this thread and never the event loop; two acts never overlap.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TypeVar

from ...errors import FencedError, LedgerError
from ..basis.clock import Clock
from ..basis.clockwatch import ClockWatch
from ..basis.naps import Naps
from .governor import Governor
from .stream import Stream

T = TypeVar("T")


class CoreRunner:
    """The way from the event loop into the core.

    Parameters
    ----------
    governor
        The core; nobody else may call it once it is here.
    clock
        Read once for each act.
    thread
        The one thread, where the core was opened in it already; has a single worker.
    watch
        Tells of steps of that clock; None where they are part of a story.
    on_fenced
        Called when another governor has taken over the ledger: this process must end.
    """

    def __init__(
        self,
        governor: Governor,
        clock: Clock,
        stream: Stream,
        *,
        thread: ThreadPoolExecutor | None = None,
        watch: ClockWatch | None = None,
        on_fenced: Callable[[FencedError], None] = lambda _error: None,
    ) -> None:
        self._governor = governor
        self._clock = clock
        self.stream = stream
        self.naps = Naps()
        self._watch = watch
        self._owed = timedelta(0)
        self._on_fenced = on_fenced
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="core")

    def now(self) -> datetime:
        """Return the present instant, for what happens outside the core."""
        return self._clock()

    async def run(self, act: Callable[[Governor, datetime], T]) -> T:
        """Run one act in the core's thread: `await core.run(lambda g, now: g.view(key, now=now))`.

        Raises
        ------
        FencedError
            When another governor holds the ledger; `on_fenced` was called.
        """
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._one, act, loop)
        except FencedError as error:
            self._on_fenced(error)
            raise

    async def close(self) -> None:
        """Finish the acts in progress and close the core, in its own thread."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._governor.close)
        self._thread.shutdown()

    def _one(self, act: Callable[[Governor, datetime], T], loop: asyncio.AbstractEventLoop) -> T:
        try:
            return act(self._governor, self._instant())
        finally:
            # Taken in this thread: the set belongs to it.
            if changed := self._governor.take_changed():
                loop.call_soon_threadsafe(self.stream.wake, changed)

    def _instant(self) -> datetime:
        """Read the clock for one act; a step of it is on the record before the act."""
        if self._watch is None:
            return self._clock()
        now, step = self._watch.read()
        self._owed += step
        if self._owed:
            try:
                self._governor.clock_stepped(self._owed, now=now)
            except FencedError:
                raise
            except LedgerError:
                # Nothing else is recorded either; the next act tries again.
                return now
            self._owed = timedelta(0)
        return now
