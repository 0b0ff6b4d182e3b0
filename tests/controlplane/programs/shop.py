"""Where built programs are kept, and how one that lacks is made.

Everything is below `.cache/controlplane/`, which git ignores; a folder for each module and
version. A program is there with its stamp or not at all: an interrupted build leaves neither.
"""

import fcntl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .changed_kueue import write_changed_kueue
from .manifests import write_manifests
from .recipe import PROGRAMS, Module
from .toolchain import Say, ask, compile_program, find_go

ROOT = Path(__file__).parents[3]
MEGABYTE = 1_000_000


class NotBuiltError(Exception):
    """A program that a test needs was never built; its text says how to."""


@dataclass(frozen=True)
class Shop:
    """The folder of built programs."""

    folder: Path = ROOT / ".cache" / "controlplane"

    def home(self, module: Module) -> Path:
        """Folder of one version of a module: `bin`, and `manifests` where it has any."""
        return self.folder / module.label

    def path(self, program: str) -> Path:
        """Where a program is, or will be."""
        return self.home(PROGRAMS[program]) / "bin" / program

    def built(self, program: str) -> bool:
        """Whether it is there, and of the origin that the recipe names now."""
        stamp = self.path(program).with_suffix(".stamp")
        return stamp.exists() and stamp.read_text() == PROGRAMS[program].stamp()

    def missing(self, programs: Iterable[str]) -> list[str]:
        """Those that are not there."""
        return [program for program in programs if not self.built(program)]

    def require(self, programs: Iterable[str]) -> None:
        """Do nothing if all are there.

        Raises
        ------
        NotBuiltError
            If one is not, with the command that builds it.
        """
        if lacking := self.missing(programs):
            raise NotBuiltError(
                f"not built yet: {', '.join(lacking)} (`make test-kube` builds what lacks; "
                f"`python -m tests.controlplane.build {' '.join(lacking)}` these alone)"
            )

    def build(self, programs: Iterable[str], say: Say) -> None:
        """Build those that lack; one build at a time.

        Raises
        ------
        NoGoError
            If there is no Go that can.
        BuildFailedError
            If Go refuses.
        """
        wanted = list(programs)
        if not self.missing(wanted):
            return
        go = find_go()
        with self._alone(say):
            for program in self.missing(wanted):
                self._make(go, program, say)

    def _make(self, go: str, program: str, say: Say) -> None:
        module = PROGRAMS[program]
        say(
            f"Building {program} ({module.name} {module.version}): "
            f"up to {module.minutes} min on two cores the first time"
        )
        started = time.monotonic()
        target = self.path(program)
        target.parent.mkdir(parents=True, exist_ok=True)
        package, where = module.programs[program], module.folder
        if program == "kueue":
            package, where = ".", self._prepare_kueue(go, module)
        fresh = target.with_suffix(".new")
        compile_program(go, package, fresh, where=where, linker=module.linker, say=say)
        fresh.replace(target)
        target.with_suffix(".stamp").write_text(module.stamp())
        size = target.stat().st_size / MEGABYTE
        say(f"  {program}: built in {time.monotonic() - started:.0f} s, {size:.0f} MB")

    def _prepare_kueue(self, go: str, module: Module) -> Path:
        """Lay out what Kueue needs beside its program; return the folder to build it in."""
        ask(go, "mod", "download", "sigs.k8s.io/kueue", where=module.folder)
        place = ["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue"]
        source = Path(ask(go, *place, where=module.folder).strip())
        home = self.home(module)
        write_manifests(source, home / "manifests")
        write_changed_kueue(source, module.folder, home / "source")
        return home / "source"

    @contextmanager
    def _alone(self, say: Say) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("Another build runs; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
