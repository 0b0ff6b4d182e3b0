"""Install what was built as its users would: base, `hub`, all extras, and from the sdist.

`python -m tests.support.release_check dist` makes a clean environment for each, and exits 1 with
what does not work there. It needs the network, for the dependencies.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hub_ext.cli import COMMANDS

LIGHT = ("agent", "busy", "env", "schema")
"""Commands that need no extra."""

TRIALS: dict[str, tuple[tuple[str, ...], ...]] = {
    "": (
        ("python", "-P", "-c", "import labextension, hub_ext.telemetry.agent"),
        ("jupyter", "server", "extension", "list"),
    ),
    "hub": (
        ("python", "-P", "-c", "import hub_ext.configure, spawner.local"),
        ("gpu-commons", "check", "share/gpu-commons/config/policy.yaml"),
        ("gpu-commons", "governor", "--print", "settings"),
    ),
    "hub,kubernetes,postgres": (
        ("python", "-P", "-c", "import hub_ext.configure, spawner.kube, psycopg"),
        ("gpu-commons", "render", "share/gpu-commons/config/policy.yaml", "--help"),
    ),
}
"""Extras -> what has to work with them, run in the environment's own folder."""


def main(folder: str) -> int:
    """Check the one wheel and the one sdist in `folder`."""
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    faults = [fault for extras in TRIALS for fault in _tried(wheel, extras)]
    faults += _tried(sdist, "")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


def _tried(built: Path, extras: str) -> Iterator[str]:
    asked = f"{built.resolve()}[{extras}]" if extras else str(built.resolve())
    name = f"{built.suffix.removeprefix('.')} [{extras}]"
    print(f"{name}: installing", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "env")
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = (place / "bin/pip", "--disable-pip-version-check")
        done = subprocess.run([*pip, "install", "-q", asked], check=False)
        if done.returncode:
            yield f"{name}: cannot be installed"
            return
        yield from (f"{name}: {fault}" for fault in _ran(place, ("pip", "check")))
        for words in TRIALS[extras]:
            yield from (f"{name}: {fault}" for fault in _ran(place, words))
        for command in COMMANDS:
            helped = _ran(place, ("gpu-commons", command, "--help"))
            yield from (f"{name}: {fault}" for fault in helped)


def _ran(place: Path, words: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with one command; without its extra it has to name that, and not break."""
    done = subprocess.run(
        [place / "bin" / words[0], *words[1:]],
        cwd=place,
        env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}", "HOME": str(place)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout + done.stderr
    names_extra = "jupyterhub-gpu-commons[" in said and words[1] not in LIGHT
    if "Traceback" in said or (done.returncode and not names_extra):
        yield f"{' '.join(words)}: exit {done.returncode}: {said.strip()[-300:]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
