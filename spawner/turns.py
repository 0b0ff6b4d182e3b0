"""Lets those whose answers came go on one by one, a turn of the hub's loop each.

What the hub does after a refusal takes it some milliseconds. Fifty at once would hold its loop for
all of that, and with it everybody's pages.
"""

import asyncio
from collections import deque


class Turns:
    """A line in which each waits for a turn of the event loop of its own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._line: deque[asyncio.Future[None]] = deque()

    async def mine(self) -> None:
        """Wait until all who came before have had their turn."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # A former loop has ended, with whoever waited in it.
            self._loop, self._line = loop, deque()
        mine = loop.create_future()
        self._line.append(mine)
        if len(self._line) == 1:
            loop.call_soon(self._call)
        await mine

    def _call(self) -> None:
        first = self._line.popleft()
        if not first.done():
            first.set_result(None)
        if self._line and self._loop is not None:
            self._loop.call_soon(self._call)
