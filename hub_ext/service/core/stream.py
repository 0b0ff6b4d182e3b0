"""Held requests: each waits for news of one server and is answered the moment there is some.

It holds no data: who is woken reads again. It belongs to the event loop alone.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ...errors import RefusedError
from ...i18n import _
from ...lease import ServerKey


class Stream:
    """Waiters by server.

    Parameters
    ----------
    most
        Most waiters of one server.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiters: dict[ServerKey, set[asyncio.Event]] = {}
        self._watchers: set[asyncio.Event] = set()
        self._closed = False

    @contextmanager
    def watcher(self) -> Iterator[asyncio.Event]:
        """Give an event that is set at the next news of any server, or at the end."""
        event = asyncio.Event()
        self._watchers.add(event)
        if self._closed:
            event.set()
        try:
            yield event
        finally:
            self._watchers.discard(event)

    @contextmanager
    def waiter(self, key: ServerKey) -> Iterator[asyncio.Event]:
        """Give an event that is set at the next news of a server, or at the end of the service.

        Enter it before reading, so that no news falls between.

        Raises
        ------
        RefusedError
            When too many already wait for the same server.
        """
        event = asyncio.Event()
        waiting = self._waiters.setdefault(key, set())
        if len(waiting) >= self._most:
            raise RefusedError(
                "too-many-waiting",
                _(
                    "{most} requests wait for news of this server already. Close pages that are "
                    "not needed, or ask without wait_s."
                ).format(most=self._most),
                figures={"most": self._most},
                status=429,
                retry_after_s=5,
            )
        waiting.add(event)
        if self._closed:
            event.set()
        try:
            yield event
        finally:
            waiting.discard(event)
            if not waiting and self._waiters.get(key) is waiting:
                del self._waiters[key]

    def wake(self, keys: Iterable[ServerKey]) -> None:
        """Wake whoever waits for these servers, and whoever watches all."""
        for event in self._watchers:
            event.set()
        for key in keys:
            for event in self._waiters.get(key, ()):
                event.set()

    def close(self) -> None:
        """Wake everybody, now and from now on: the service ends."""
        self._closed = True
        self.wake(tuple(self._waiters))

    @property
    def closed(self) -> bool:
        """Whether the service ends, so that nobody should wait again."""
        return self._closed

    @property
    def waiting(self) -> int:
        """How many requests are held."""
        return sum(len(events) for events in self._waiters.values())
