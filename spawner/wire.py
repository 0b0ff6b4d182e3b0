"""One exchange with the governor over HTTP, blocking and bounded. Runs in threads.

Threads rather than the hub's event loop: a loop that is busy starting fifty servers would fire
its timers before it reads an answer that came in time, and refuse people for nothing.
"""

import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from hub_ext.errors import UnreachableError
from hub_ext.i18n import _

_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
SERVER_ERROR = 500

Body = bytes | Callable[[], bytes]
"""What is sent, or what writes it anew at each try, where it says how long ago something was."""


class Answer(NamedTuple):
    """Status and body of an HTTP answer."""

    status: int
    body: bytes


class Peer(NamedTuple):
    """Where the governor's API is and who asks.

    `url` is the API's base without a slash at its end; `token` identifies the asking service.
    """

    url: str
    token: str


def exchange(peer: Peer, path: str, *, body: Body | None = None, within_s: float) -> Answer:
    """Send one request, and again after a failure, until an answer comes or the time is up.

    Only what the governor can take twice may be sent here. A body makes it a POST. The last
    answer is returned even when its status is 500 or above.

    Parameters
    ----------
    within_s
        Seconds for all tries together.

    Raises
    ------
    UnreachableError
        When no answer came in time.
    """
    deadline = time.monotonic() + within_s
    tries = 0
    while True:
        answer: Answer | None = None
        problem = ""
        try:
            answer = _once(peer, path, body() if callable(body) else body, deadline)
        except (OSError, HTTPException) as error:
            problem = f"{type(error).__name__}: {error}"
        if answer is not None and answer.status < SERVER_ERROR:
            return answer
        pause = _PAUSES_S[min(tries, len(_PAUSES_S) - 1)]
        tries += 1
        if time.monotonic() + pause >= deadline:
            if answer is not None:
                return answer
            raise UnreachableError(
                _("no answer from the governor at {url} in {seconds} s ({problem})").format(
                    url=peer.url, seconds=within_s, problem=problem
                )
            )
        time.sleep(pause)


def _once(peer: Peer, path: str, body: bytes | None, deadline: float) -> Answer:
    where = urlsplit(f"{peer.url}/{path}")
    connection = _connection(where, _left(deadline))
    try:
        connection.connect()
        connection.sock.settimeout(_left(deadline))
        connection.request(
            "GET" if body is None else "POST",
            where.path + (f"?{where.query}" if where.query else ""),
            body=body,
            headers={
                "Authorization": f"token {peer.token}",
                "Accept": "application/json",
                "Content-Type": "application/json",
            },
        )
        response: HTTPResponse = connection.getresponse()
        return Answer(response.status, response.read())
    finally:
        connection.close()


def _connection(where: SplitResult, timeout_s: float) -> HTTPConnection:
    kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
    return kind(where.hostname or "", where.port, timeout=timeout_s)


def _left(deadline: float) -> float:
    """Seconds until the deadline; never 0, which would mean "do not wait at all"."""
    return max(0.01, deadline - time.monotonic())
