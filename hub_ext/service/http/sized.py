"""Takes bodies that are too large to their end without keeping them, so that the refusal is read.

A connection that is cut in the middle of a body loses the answer on its way.
"""

from collections.abc import Awaitable

from tornado.httputil import HTTPConnection as Connection
from tornado.httputil import (
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.web import Application


class SizedApplication(Application, HTTPServerConnectionDelegate):
    """An application that keeps at most a little more than `most_body_bytes` of any body."""

    def start_request(self, server_conn: object, request_conn: Connection) -> HTTPMessageDelegate:
        """Begin one request."""
        most: int = self.settings["most_body_bytes"]
        return _Sized(super().start_request(server_conn, request_conn), most)


class _Sized(HTTPMessageDelegate):
    """One request on its way in: what comes after the part that proves it too large is dropped."""

    def __init__(self, inner: HTTPMessageDelegate, most: int) -> None:
        self._inner = inner
        self._left = most

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        """Pass them on."""
        return self._inner.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Pass a part on, the first that is too much included."""
        if self._left < 0:
            return None
        self._left -= len(chunk)
        return self._inner.data_received(chunk)

    def finish(self) -> None:
        """Pass it on."""
        self._inner.finish()

    def on_connection_close(self) -> None:
        """Pass it on."""
        self._inner.on_connection_close()
