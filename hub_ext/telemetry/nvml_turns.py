"""Calls about several GPUs, one GPU after the other, so that one that hangs holds up no other.

They take turns in one thread: side by side they would only fight for the interpreter. A GPU that
does not answer keeps that thread to itself; the others go on in a new one.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping

Jobs = deque[tuple[int, Callable[[], None]]]


class Turns:
    """Gives each GPU its turn; used by one thread.

    Parameters
    ----------
    patience_s
        So long a turn may last before the others go on without it.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._worker = _Worker()
        self._stuck: dict[int, _Worker] = {}
        self.missed: dict[int, int] = {}
        """Rounds in a row in which a GPU did not answer; none where it does."""

    def run(self, jobs: Mapping[int, Callable[[], None]]) -> None:
        """Do what is to be done for each GPU; what hangs from a former round is not done again.

        Raises
        ------
        BaseException
            What a job raised, after all others are done.
        """
        self._stuck = {key: one for key, one in self._stuck.items() if one.busy}
        asked = {key: job for key, job in jobs.items() if key not in self._stuck}
        for key in jobs:
            if key in asked:
                self.missed.pop(key, None)
            else:
                self.missed[key] = self.missed.get(key, 0) + 1
        todo: Jobs = deque(asked.items())
        errors: list[BaseException] = []
        while todo:
            worker = self._worker
            worker.give(todo)
            while not worker.wait(self._patience_s):
                at = worker.leave()
                if at is not None:
                    self._stuck[at], self.missed[at] = worker, 1
                    self._worker = _Worker()
                    break
            errors += worker.errors
            worker.errors = []
        if errors:
            raise errors[0]


class _Worker:
    """A thread that does jobs from a list that it shares, until it is left alone with one."""

    def __init__(self) -> None:
        # Plain locks, each taken by one thread and given back by the other: the cheapest signal.
        self._go, self._done, self._list = threading.Lock(), threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._todo: Jobs = deque()
        self._at: int | None = None
        self._seen: int | None = None
        self._left = False
        self.errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._work, name="nvml-turns", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether it still does what it was left alone with."""
        return self._thread.is_alive()

    def give(self, todo: Jobs) -> None:
        """Begin with jobs; the list is emptied on the way."""
        self._todo, self._seen = todo, None
        self._go.release()

    def wait(self, patience_s: float) -> bool:
        """Wait for the end of the list; False where that did not come in time."""
        return self._done.acquire(timeout=patience_s)

    def leave(self) -> int | None:
        """Leave it alone with what it did at the last look too; None where it does the next."""
        with self._list:
            if self._at is None or self._at != self._seen:
                self._seen = self._at
                return None
            self._left = True
            return self._at

    def _work(self) -> None:
        while not self._left:
            self._go.acquire()
            while self._next():
                pass

    def _next(self) -> bool:
        """Do one job; False after the last one, or when left alone."""
        with self._list:
            if self._left:
                return False
            if not self._todo:
                self._at = None
                self._done.release()
                return False
            self._at, job = self._todo.popleft()
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - it is raised where all of it is waited for
            self.errors.append(error)
        return True
