"""Run the tests of NVML with each supported `nvidia-ml-py`, against the driver for tests.

Each version lies in a folder of its own, before the installed one on the path: nothing is replaced.
"""

import os
import sys
from pathlib import Path
from subprocess import run

VERSIONS = ("13.580.65", "13.580.126", "13.590.48", "13.595.45", "13.610.43", "13.615.71")
"""One of each branch of the driver, and the oldest and the newest that we know."""

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "nvidia-ml-py"
TESTS = ("test_nvml.py", "test_nvml_faults.py", "test_nvml_figures.py", "test_topology.py")
USES = """
import pynvml, sys
from hub_ext.telemetry.nvml import check_bindings
check_bindings()
sys.exit(not pynvml.__file__.startswith(sys.argv[1]))
"""


def main(versions: list[str]) -> int:
    """Say of each version whether it passes; 1 where one does not."""
    failed = [version for version in versions or VERSIONS if not _passes(version)]
    print(f"failed: {', '.join(failed)}" if failed else "all pass")
    return 1 if failed else 0


def _passes(version: str) -> bool:
    folder = CACHE / version
    print(f"== nvidia-ml-py {version}", flush=True)
    if not (folder / "pynvml.py").exists():
        where = ["--target", str(folder), "--no-deps", "--disable-pip-version-check", "-q"]
        wanted = f"nvidia-ml-py=={version}"
        run([sys.executable, "-m", "pip", "install", *where, wanted], check=True)
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    # A version that the path does not lead to would pass for the installed one's sake.
    run([sys.executable, "-c", USES, str(folder)], cwd=ROOT, env=environment, check=True)
    files = [f"tests/hub_ext/telemetry/{name}" for name in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    return run(command, cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
