"""Commands where an extra is not installed: they name it, and the light ones need none."""

import subprocess
import sys

import pytest

from hub_ext.cli import COMMANDS, EXTRAS

ABSENT = """
import sys
for name in {names!r}:
    sys.modules[name] = None
from hub_ext.cli import main
sys.exit(main([{command!r}, "--help"]))
"""
LIGHT = ("agent", "busy", "env", "schema")


def run(command: str, *, absent: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ABSENT.format(names=absent, command=command)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", LIGHT)
def test_what_runs_beside_a_notebook_or_on_a_node_needs_no_extra(command: str) -> None:
    done = run(command, absent=EXTRAS["hub"] + EXTRAS["postgres"])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("device", "hub"),
        ("check", "hub"),
        ("demo", "hub"),
        ("render", "kubernetes"),
        ("adopt", "kubernetes"),
    ],
)
def test_a_command_that_lacks_its_extra_says_what_to_install(command: str, extra: str) -> None:
    assert command in COMMANDS
    done = run(command, absent=EXTRAS[extra])
    assert done.returncode == 1
    assert done.stderr.endswith(f"pip install 'jupyterhub-gpu-commons[{extra}]'\n")
    assert "Traceback" not in done.stderr
