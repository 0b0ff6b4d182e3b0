"""Whether somebody still waits for the answer to their request.

A spawner that has given up closes its connection; what it asked for is then granted to nobody.
"""

import socket

from tornado.httputil import HTTPServerRequest


def has_left(request: HTTPServerRequest) -> bool:
    """Whether the other end has closed the connection that a request came by.

    May be called from any thread: it looks at what the kernel has, and takes nothing out.
    """
    stream = getattr(request.connection, "stream", None)
    # The loop may close it just now: what it leaves behind is None, or a socket that is closed.
    end: socket.socket | None = getattr(stream, "socket", None)
    if end is None:
        return True
    try:
        return end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
