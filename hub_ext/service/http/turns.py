"""Keeps the turns of the event loop short, so that a burst of requests lets nobody wait for it.

It decides nothing about requests; it says how many of them one turn looks at.
"""

import asyncio
import gc
import selectors
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

MOST_EVENTS = 4
"""Sockets that one turn looks at: each costs a request's parsing or the sending of an answer."""

SWITCH_S = 0.0005
"""How long one thread may keep the interpreter while another wants it, in seconds.

The loop gives it up at each read and write, and waits so long to get it back from a core that
decides.
"""


class FewAtATime(selectors.DefaultSelector):
    """Tells of a few ready files at a time, in the order in which they were found ready.

    asyncio handles all that it is told of before it looks at a timer or at an answer of the core.
    """

    def __init__(self) -> None:
        super().__init__()
        self._left: deque[tuple[selectors.SelectorKey, int]] = deque()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Give the next few; wait for others only once all that were found have been given."""
        if not self._left:
            self._left.extend(super().select(timeout))
        few: list[tuple[selectors.SelectorKey, int]] = []
        while self._left and len(few) < MOST_EVENTS:
            key, events = self._left.popleft()
            # Closed, or watched for something else since: if it still is ready, it is found again.
            if self.get_map().get(key.fd) is key:
                few.append((key, events))
        return few


def new_loop() -> asyncio.AbstractEventLoop:
    """Make an event loop with short turns, for `asyncio.Runner`."""
    return asyncio.SelectorEventLoop(FewAtATime())


def listen(server: HTTPServer, sockets: Iterable[socket.socket]) -> Callable[[], None]:
    """Serve connections to these sockets; return what ends it.

    Tornado's own way takes all that wait in one turn.
    """
    loop, there = asyncio.get_running_loop(), tuple(sockets)
    for one in there:
        loop.add_reader(one, partial(_take_one, server, one))

    def end() -> None:
        for one in there:
            loop.remove_reader(one)
            one.close()

    return end


def _take_one(server: HTTPServer, listening: socket.socket) -> None:
    try:
        connection, address = listening.accept()
    except (BlockingIOError, ConnectionAbortedError):
        # Whoever came has left again.
        return
    stream = IOStream(
        connection, max_buffer_size=server.max_buffer_size, read_chunk_size=server.read_chunk_size
    )
    server.handle_stream(stream, address)


def share_evenly() -> None:
    """Let the loop have the interpreter soon; call it once the process is ready to serve.

    A full search for unreachable objects holds every thread for 0.1 s, most of it for modules and
    classes that stay as long as the process does.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
