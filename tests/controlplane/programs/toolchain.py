"""The Go of this machine: found, new enough, and run with progress that a person can follow."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

OLDEST = (1, 26)
USUAL_PLACE = "/usr/local/go/bin/go"
EVERY_S = 20.0
"""How often a long build says that it goes on."""

Say = Callable[[str], None]


class NoGoError(Exception):
    """There is no Go, or one that is too old; its text says what to do."""


class BuildFailedError(Exception):
    """Go refused to build; its text ends with Go's own."""


def environment() -> dict[str, str]:
    """Make the environment of each Go command: our modules alone decide what is built."""
    return {
        "GOTOOLCHAIN": "local",
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath",
        "GOWORK": "off",
    }


def find_go() -> str:
    """Find a Go that is new enough.

    Raises
    ------
    NoGoError
        If there is none.
    """
    go = shutil.which("go") or shutil.which(USUAL_PLACE)
    wanted = ".".join(map(str, OLDEST))
    remedy = f"Install Go {wanted} or newer (https://go.dev/dl) and put it on the path."
    if go is None:
        raise NoGoError(f"There is no Go on this machine. {remedy}")
    # In the folder of a module with an old Go this would be an error in place of a version.
    words = ask(go, "env", "GOVERSION", where=Path("/")).strip()
    found = re.match(r"go(\d+)\.(\d+)", words)
    if not found or (int(found[1]), int(found[2])) < OLDEST:
        raise NoGoError(f"{go} is {words or 'of an unknown version'}, which is too old. {remedy}")
    return go


def ask(go: str, *words: str, where: Path) -> str:
    """Run a short Go command and return what it prints.

    Raises
    ------
    BuildFailedError
        If it fails, with its own words.
    """
    done = subprocess.run(
        [go, *words], cwd=where, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildFailedError(f"go {' '.join(words)} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def compile_program(
    go: str, package: str, target: Path, *, where: Path, linker: str, say: Say
) -> None:
    """Compile one program, and tell every twenty seconds how far it is.

    Raises
    ------
    BuildFailedError
        If the compiler refuses, with the end of what it wrote.
    """
    started = told = time.monotonic()
    compiled, words = 0, []
    command = [go, "build", "-v", "-ldflags", linker, "-o", str(target), package]
    with subprocess.Popen(
        command, cwd=where, env=environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        for line in process.stderr:
            # With -v each compiled package is a line of one word.
            compiled += " " not in line.strip()
            words.append(line)
            if time.monotonic() - told > EVERY_S:
                told = time.monotonic()
                say(f"  {target.stem}: {compiled} packages after {told - started:.0f} s")
    if process.returncode:
        raise BuildFailedError(f"{target.stem} was not built:\n{''.join(words)[-3000:]}")
