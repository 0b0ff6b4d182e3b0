"""The thread that writes readings, so that no decision waits for them; several batches at once.

One transaction costs as much as fifty readings in it, so what comes while one runs shares the next.
"""

import threading
from collections import deque
from collections.abc import Collection
from typing import Protocol

from ..i18n import _
from .readings import Taken

GATHER_S = 0.05
"""How long batches gather before they are written: little beside an agent's period."""

MOST_WAITING = 20_000
"""Batches that wait at most: a disk that does not write is no reason to fill the memory."""


class Store(Protocol):
    """Where they are written; used by the writer's thread alone."""

    moved: int

    @property
    def problem(self) -> str:
        """What is wrong with it, in words; empty where nothing is."""

    def write(self, taken: Collection[Taken]) -> None:
        """Keep batches; never raises."""

    def close(self) -> None:
        """Let go of the file."""


class SampleWriter:
    """Takes batches and writes them soon, in the order in which they came."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[Taken] = deque()
        self._changed = threading.Condition()
        self._writing = False
        self._over = False
        self._dropped = 0
        self._seen = 0
        self._thread = threading.Thread(target=self._work, name="samples", daemon=True)
        self._thread.start()

    @property
    def problem(self) -> str:
        """What is wrong, in words for the admin; empty where nothing is."""
        if self._dropped:
            words = _("{n} batches of readings were not kept: the disk does not write them in time")
            return words.format(n=self._dropped)
        return self._store.problem

    def moves(self) -> bool:
        """Whether a damaged file was moved aside since the last call."""
        seen, self._seen = self._seen, self._store.moved
        return seen != self._seen

    def put(self, taken: Taken) -> None:
        """Have a batch written; the oldest of too many is not."""
        with self._changed:
            self._waiting.append(taken)
            if len(self._waiting) > MOST_WAITING:
                self._waiting.popleft()
                self._dropped += 1
            if len(self._waiting) == 1:
                self._changed.notify_all()

    def settle(self) -> None:
        """Wait until nothing waits and nothing is being written."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._writing)

    def close(self) -> None:
        """Write what waits, and end."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._thread.join()
        self._store.close()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._over)
                if not self._waiting:
                    return
                if not self._over:
                    self._changed.wait_for(lambda: self._over, GATHER_S)
                taken, self._waiting, self._writing = self._waiting, deque(), True
            self._store.write(taken)
            with self._changed:
                self._writing = False
                if not self._waiting:
                    self._dropped = 0
                self._changed.notify_all()
