"""Messages that must reach the governor later: delivered in order by one thread of its own.

It outlives the spawner that wrote them, since the hub discards a spawner after every stop. It
does not outlive the hub: what is lost then, the governor's reconciler finds.
"""

import logging
import threading
import time
from collections import deque
from typing import NamedTuple

from hub_ext.errors import UnreachableError

from .wire import SERVER_ERROR, Answer, Body, Peer, exchange

_LOG = logging.getLogger("gpu-commons.outbox")
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_MOST_SERVER_ERRORS = 20
"""A message that the governor itself stumbles over must not hold up the others for ever."""


class Message(NamedTuple):
    """One POST that is still to be made."""

    path: str
    body: Body
    what: str
    """For the hub's log file: what this is about."""


class Outbox:
    """A bounded queue with one delivering thread, started with the first message.

    Parameters
    ----------
    peer
        The governor's address and our token.
    most
        Messages kept at most; beyond that the oldest is dropped, with an error.
    try_s
        Seconds for one try.
    """

    def __init__(self, peer: Peer, *, most: int = 2000, try_s: float = 2.0) -> None:
        self._peer = peer
        self._most = most
        self._try_s = try_s
        self._messages: deque[Message] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, message: Message) -> None:
        """Take a message for delivery; returns at once."""
        with self._changed:
            if self._closed:
                return
            if len(self._messages) >= self._most:
                lost = self._messages.popleft()
                _LOG.error("Too many messages wait for the governor; dropped: %s", lost.what)
            self._messages.append(message)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._deliver, name="gpu-commons-outbox", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def drain(self, within_s: float) -> bool:
        """Wait until everything is delivered; False when the time ran out before."""
        deadline = time.monotonic() + within_s
        with self._changed:
            while self._messages:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            return True

    def close(self) -> None:
        """Stop delivering; what still waits is lost."""
        with self._changed:
            self._closed = True
            self._messages.clear()
            self._changed.notify_all()

    def _deliver(self) -> None:
        pause = _FIRST_PAUSE_S
        errors = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._messages or self._closed)
                if self._closed:
                    return
                message = self._messages[0]
            answer = self._try(message, first=pause == _FIRST_PAUSE_S)
            errors = errors + 1 if answer is not None else errors
            settled = answer is not None and (
                answer.status < SERVER_ERROR or errors >= _MOST_SERVER_ERRORS
            )
            if answer is not None and settled:
                _say(message, answer)
                self._remove(message)
                pause, errors = _FIRST_PAUSE_S, 0
                continue
            with self._changed:
                self._changed.wait_for(lambda: self._closed, timeout=pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _try(self, message: Message, *, first: bool) -> Answer | None:
        try:
            return exchange(self._peer, message.path, body=message.body, within_s=self._try_s)
        except UnreachableError as error:
            level = logging.WARNING if first else logging.DEBUG
            _LOG.log(level, "Not delivered yet: %s: %s", message.what, error)
            return None

    def _remove(self, message: Message) -> None:
        with self._changed:
            # It may have been dropped meanwhile, being the oldest of too many.
            if self._messages and self._messages[0] is message:
                self._messages.popleft()
            self._changed.notify_all()


def _say(message: Message, answer: Answer) -> None:
    if answer.status >= 400:  # noqa: PLR2004 - where HTTP errors start
        _LOG.warning(
            "The governor did not take it (%s): %s: %.300r",
            answer.status,
            message.what,
            answer.body,
        )
    else:
        _LOG.debug("Delivered: %s", message.what)
