"""Reads the extension's stream as a page does, one JSON line at a time."""

import http.client
import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.lab_identity import OWNER_TOKEN


class Page:
    """One open stream; leaving the block closes it as a closed tab would."""

    def __init__(self, url: str, token: str = OWNER_TOKEN) -> None:
        parts = urlsplit(url)
        self._http = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=15)
        self._http.request(
            "GET", "/gpu-commons/stream", headers={"Authorization": f"token {token}"}
        )
        self.response = self._http.getresponse()
        self.beats = 0

    @property
    def status(self) -> int:
        """HTTP status of the stream."""
        return self.response.status

    def line(self) -> dict[str, Any]:
        """The next line, of whatever kind."""
        line: dict[str, Any] = json.loads(self.response.readline())
        return line

    def next(self) -> dict[str, Any]:
        """The next state; signs of life are counted and passed over."""
        while (line := self.line())["kind"] != "state":
            self.beats += 1
        return line

    def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state for which the condition holds, within fifteen seconds."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            state = self.next()
            if condition(state):
                return state
        raise AssertionError("no such state came")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.response.close()
        self._http.close()
