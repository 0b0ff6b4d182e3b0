"""A real hub with what faults need: proxies on the way, a clock that steps, a watch from outside.

It acts on processes of its own hub alone, found below the hub's cage.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

from tests.chaos.layout import Folder
from tests.chaos.schedule import names
from tests.support.hub import RealHub
from tests.support.tcp_proxy import TcpProxy
from tests.support.web import call

_QUIET_S = 1.5
"""A governor that answers no question for longer was away."""


def servers(hub: RealHub) -> list[psutil.Process]:
    """Living servers of this hub, stopped ones too."""
    found = []
    for process in hub.processes():
        with suppress(psutil.Error):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if "tiny_server.py" in " ".join(process.cmdline()):
                found.append(process)
    return sorted(found, key=lambda process: process.pid)


@dataclass
class Watch:
    """What is seen from outside while faults happen: who lived until when, who answered."""

    hub: RealHub
    lived: dict[int, float] = field(default_factory=dict)
    """Last instant at which each server's process was seen alive, by its id."""
    away: list[tuple[float, float]] = field(default_factory=list)
    """Stretches of time in which the governor did not answer."""
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look for the length of a `with` block."""
        threads = [threading.Thread(target=act, daemon=True) for act in (self._see, self._ask)]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self._over.set()
            for each in threads:
                each.join()

    def _see(self) -> None:
        while not self._over.wait(0.3):
            for process in servers(self.hub):
                self.lived[process.pid] = time.time()

    def _ask(self) -> None:
        last = time.time()
        while not self._over.wait(0.5):
            if call("GET", f"{self.hub.url}/services/gpu-commons/healthz").status == 200:
                if time.time() - last > _QUIET_S:
                    self.away.append((last, time.time()))
                last = time.time()


@dataclass
class Site:
    """The hub and the means to disturb it."""

    folder: Folder
    hub: RealHub
    to_governor: TcpProxy
    to_hub: TcpProxy
    watch: Watch
    steps: list[tuple[float, float]] = field(default_factory=list)
    """Instant of each step of the governor's clock, and the offset since then."""

    @classmethod
    @contextmanager
    def running(cls, path: Path, *, people: int, poll_s: int) -> Iterator[Self]:
        """Run the site for the length of a `with` block.

        Parameters
        ----------
        poll_s
            Seconds between two looks of the hub at its services; the hub's own default is 30.
        """
        folder, everybody = Folder(path), names(people)
        groups = {"vision": list(everybody[::2]), "language": list(everybody[1::2])}
        with ExitStack() as stack:
            to_governor, to_hub = (
                stack.enter_context(TcpProxy.running(lambda file=file: folder.port(file)))  # type: ignore[misc]
                for file in (folder.governor_port, folder.hub_port)
            )
            extra = folder.configuration(
                to_governor=to_governor.port, to_hub=to_hub.port, poll_s=poll_s
            )
            hub = stack.enter_context(
                RealHub.running(folder.hub, extra=extra, groups=groups, tiny=True)
            )
            hub.add_users(*everybody)
            hub.wait(hub.healthy, "the governor and its agent")
            site = cls(folder, hub, to_governor, to_hub, Watch(hub))
            with site.watch.looking():
                yield site

    def step(self, seconds: float) -> None:
        """Step the governor's clock."""
        offset = self.offset_at(time.time()) + seconds
        draft = self.folder.offset.with_suffix(".draft")
        draft.write_text(str(offset))
        self.steps.append((time.time(), offset))
        draft.replace(self.folder.offset)

    def offset_at(self, at: float) -> float:
        """How far the governor's clock was off the machine's at an instant."""
        return next((offset for when, offset in reversed(self.steps) if when <= at), 0.0)
