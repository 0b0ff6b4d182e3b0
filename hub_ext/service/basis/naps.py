"""Times in which this process did not run: stopped, or its loop blocked.

What came in meanwhile lay unread in its socket, and tells an age from before it lay there.
"""

import asyncio
import time
from collections.abc import Callable

TICK_S = 0.25
LEAST_S = 1.5
"""A pause of the event loop that is longer is a nap; a busy machine makes shorter ones."""

AFTER_S = 5.0
"""So long after a nap a request may still be one that lay unread: they are read by then."""


class Naps:
    """Notes when the event loop last ran; says nothing while nobody turns `watch`."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._last_s: float | None = None
        self._slept_s = 0.0
        self._woke_s: float | None = None

    async def watch(self) -> None:
        """Tick for ever."""
        while True:
            self.tick()
            await asyncio.sleep(TICK_S)

    def tick(self) -> None:
        """Note that the loop runs."""
        now_s, last_s = self._steady(), self._last_s
        self._last_s = now_s
        if last_s is not None and now_s - last_s > LEAST_S:
            # A second nap soon after the first: what came in the first may still lie there.
            if not self._lately(last_s):
                self._slept_s = last_s
            self._woke_s = now_s

    def lain_ms(self) -> int:
        """Milliseconds for which a request that is handled now may have lain unread."""
        if self._last_s is None:
            return 0
        self.tick()
        now_s = self._steady()
        return round(1000 * (now_s - self._slept_s)) if self._lately(now_s) else 0

    def _lately(self, at_s: float) -> bool:
        return self._woke_s is not None and at_s - self._woke_s < AFTER_S
