"""A TCP connection between two processes that a test can slow down and cut.

Standard library threads; it knows nothing of HTTP. A cut ends what is open and refuses what comes.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

_AT_ONCE = 65536


class TcpProxy:
    """Listens on a free port of 127.0.0.1 and passes everything on.

    Parameters
    ----------
    target
        Gives the port to pass on to; asked at each connection, since it may not be known before.
    """

    def __init__(self, target: Callable[[], int]) -> None:
        self._target = target
        self._delay_s = 0.0
        self._cut = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @classmethod
    @contextmanager
    def running(cls, target: Callable[[], int]) -> Iterator[Self]:
        """Run one for the length of a `with` block."""
        proxy = cls(target)
        try:
            yield proxy
        finally:
            proxy.cut()
            proxy._listener.close()

    def cut(self) -> None:
        """End all connections and take no further one until `mend`."""
        with self._lock:
            self._cut = True
            ending = list(self._open)
        for each in ending:
            _end(each)

    def delay(self, seconds: float) -> None:
        """Hold back each piece for so long until `mend`."""
        self._delay_s = seconds

    def mend(self) -> None:
        """Pass everything on at once again."""
        self._cut = False
        self._delay_s = 0.0

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _peer = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self._target()), timeout=10)
        except (OSError, ValueError):
            near.close()
            return
        far.settimeout(None)
        with self._lock:
            self._open |= {near, far}
            cut = self._cut
        if cut:
            _end(near)
            _end(far)
        back = threading.Thread(target=self._pass, args=(far, near), daemon=True)
        back.start()
        self._pass(near, far)
        back.join()
        with self._lock:
            self._open -= {near, far}
        near.close()
        far.close()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(_AT_ONCE):
                if self._delay_s:
                    time.sleep(self._delay_s)
                sink.sendall(piece)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
