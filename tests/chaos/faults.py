"""Carries out a schedule: begins and ends each fault at its time, and lets people ask meanwhile."""

import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from tests.chaos.schedule import Act, Fault, FaultKind, Schedule, Wish
from tests.chaos.site import Site, servers

_SETTLED_S = 4.0
"""A server younger than this is still starting; its death then is the hub's own count."""

Undo = Callable[[], None]

OPTIONS: dict[Act, dict[str, str]] = {
    Act.start: {"profile": "small"},
    Act.wait: {"profile": "small", "wait": "start"},
    Act.hold: {"profile": "small", "wait": "hold"},
    Act.plain: {"profile": "plain"},
}


@dataclass
class Turmoil:
    """One run of a schedule over a site.

    Attributes
    ----------
    hub_failures
        Failed starts that the hub counted, by reason, over all its lives.
    unasked_ends
        Instants at which the hub was found dead without our doing.
    """

    site: Site
    begun: float = 0.0
    hub_failures: dict[str, int] = field(default_factory=dict)
    unasked_ends: list[float] = field(default_factory=list)
    answers: dict[str, int] = field(default_factory=dict)
    _fatal: bool = False
    """A governor was killed while the hub was starting it."""

    def run(self, schedule: Schedule) -> None:
        """Let everything happen at its time; afterwards no fault lasts."""
        self.begun = time.monotonic()
        people = sorted({wish.person for wish in schedule.wishes})
        threads = [
            threading.Thread(
                target=self._live,
                args=([wish for wish in schedule.wishes if wish.person == person],),
                daemon=True,
            )
            for person in people
        ]
        for each in threads:
            each.start()
        self._disturb(schedule.faults)
        for each in threads:
            each.join()

    def count_hub_failures(self) -> None:
        """Add what the hub has counted in this life."""
        with suppress(AssertionError, OSError):
            for reason, count in self.site.hub.spawn_errors().items():
                self.hub_failures[reason] = self.hub_failures.get(reason, 0) + count

    # --- people --------------------------------------------------------------------------------

    def _live(self, wishes: Iterable[Wish]) -> None:
        for wish in wishes:
            self._until(wish.at_s)
            status = self._ask(wish)
            said = f"{wish.act} {status}"
            self.answers[said] = self.answers.get(said, 0) + 1

    def _ask(self, wish: Wish) -> int:
        hub = self.site.hub
        if wish.act is Act.stop:
            return hub.stop(wish.person).status
        return hub.spawn(wish.person, OPTIONS[wish.act]).status

    # --- faults --------------------------------------------------------------------------------

    def _disturb(self, faults: tuple[Fault, ...]) -> None:
        undone: list[tuple[float, Undo]] = []
        moments = list(faults)
        while moments or undone:
            undone.sort(key=lambda one: one[0])
            if undone and (not moments or undone[0][0] <= moments[0].at_s):
                at_s, undo = undone.pop(0)
                self._until(at_s)
                undo()
                continue
            fault = moments.pop(0)
            self._until(fault.at_s)
            self._say(fault)
            if (undo_it := self._begin(fault)) is not None:
                undone.append((fault.at_s + fault.lasts_s, undo_it))
            self._see_hub(undone)

    def _begin(self, fault: Fault) -> Undo | None:
        site = self.site
        match fault.kind:
            case FaultKind.to_governor_cut | FaultKind.to_hub_cut:
                proxy = site.to_hub if fault.kind is FaultKind.to_hub_cut else site.to_governor
                proxy.cut()
                return proxy.mend
            case FaultKind.to_governor_slow | FaultKind.to_hub_slow:
                proxy = site.to_hub if fault.kind is FaultKind.to_hub_slow else site.to_governor
                proxy.delay(fault.size)
                return proxy.mend
            case FaultKind.clock_steps:
                site.step(fault.size)
                return None
            case FaultKind.ledger_locked:
                return self._lock_ledger()
            case FaultKind.hub_ends:
                return self._end_hub()
            case _:
                ends = fault.kind.value.endswith("sigkill")
                self._fatal = self._fatal or (
                    fault.kind is FaultKind.governor_ends and not self._hub_has_started()
                )
                return self._signal(self._chosen(fault), ends=ends)

    def _chosen(self, fault: Fault) -> list[psutil.Process]:
        hub = self.site.hub
        where = fault.kind.value.split(".")[0]
        if where in {"governor", "agent"}:
            found = hub.service(where) if where == "governor" else _agent(hub.processes())
            return [found] if found else []
        if where == "hub":
            return [psutil.Process(hub.pid)] if hub.alive() else []
        running = [one for one in servers(hub) if _age(one) > _SETTLED_S]
        if where == "all":
            named = [hub.service("governor"), _agent(hub.processes())]
            own = [psutil.Process(hub.pid)] if hub.alive() else []
            return [*own, *(one for one in named if one), *running]
        return [running[fault.pick % len(running)]] if running else []

    def _signal(self, processes: list[psutil.Process], *, ends: bool) -> Undo | None:
        for each in processes:
            with suppress(psutil.Error):
                each.send_signal(signal.SIGKILL if ends else signal.SIGSTOP)
        return None if ends else lambda: _wake(processes)

    def _end_hub(self) -> Undo | None:
        hub = self.site.hub
        if not hub.alive():
            return None
        self.count_hub_failures()
        os.kill(hub.pid, signal.SIGKILL)
        hub.wait(lambda: not hub.alive(), "the hub to end", seconds=20)
        return self._start_hub

    def _start_hub(self) -> None:
        """Start the hub again; what it does until it answers is part of the turmoil."""
        hub = self.site.hub
        config = str(hub.folder / "jupyterhub_config.py")
        hub.pid = hub.launch(str(hub.python), "-m", "jupyterhub", "-f", config)

    def _see_hub(self, undone: list[tuple[float, Undo]]) -> None:
        """Start a hub that ended by itself, and remember that it did.

        A hub whose service is killed while it starts that service gives up: JupyterHub's own rule.
        """
        waits = any(undo == self._start_hub for _, undo in undone)
        if not waits and not self.site.hub.alive():
            if not self._fatal:
                self.unasked_ends.append(time.time())
            self._start_hub()
        self._fatal = self._fatal and not self._hub_has_started()

    def _hub_has_started(self) -> bool:
        newest = self.site.hub.output().rpartition("Running JupyterHub version")[2]
        return "JupyterHub is now running" in newest

    def _lock_ledger(self) -> Undo | None:
        path = self.site.hub.state / "ledger.sqlite"
        other = sqlite3.connect(path, timeout=2, isolation_level=None, check_same_thread=False)
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            other.close()
            return None

        def release() -> None:
            other.rollback()
            other.close()

        return release

    def _until(self, at_s: float) -> None:
        time.sleep(max(0.0, self.begun + at_s - time.monotonic()))

    def _say(self, fault: Fault) -> None:
        now_s = time.monotonic() - self.begun
        sys.stderr.write(f"{now_s:6.1f} s {fault.kind} for {fault.lasts_s} s\n")


def _wake(processes: Iterable[psutil.Process]) -> None:
    for each in processes:
        with suppress(psutil.Error):
            each.send_signal(signal.SIGCONT)


def _agent(processes: Iterable[psutil.Process]) -> psutil.Process | None:
    for process in processes:
        with suppress(psutil.Error):
            words = process.cmdline()
            if "hub_ext" in words and "agent" in words and process.status() != "zombie":
                return process
    return None


def _age(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        return time.time() - process.create_time()
    return 0.0
