"""The check for machines with a GPU: says so where there is none, reports where there is."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.nvml import GIB, FakeDriver

ROOT = Path(__file__).parents[3]


def _check(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.support.gpu_check"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_gpu_it_says_so() -> None:
    done = _check(PATH="/nonexistent")
    if Path("/dev/nvidiactl").exists():
        assert "devices" in done.stdout
    else:
        assert (done.returncode, done.stdout) == (0, "no GPU here\n")


def test_with_a_driver_it_reports(driver: FakeDriver, tmp_path: Path) -> None:
    whole, cut = driver.add_gpu(), driver.add_gpu()
    whole.util, whole.used, whole.memory_code = 12, GIB, 3
    driver.cut(cut, ("3g.71gb", 4, 4))
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    done = _check(PATH=str(tmp_path), **driver.environment)
    assert done.returncode == 0, done.stderr
    assert "2 devices\n  GPU 0: NVIDIA H200, whole, GPU-00000000\n" in done.stdout
    assert "GPU 1: NVIDIA H200, 3g.71gb at 4, MIG-GPU-00000001-0-0" in done.stdout
    assert "utilisation 12 %, memory unknown; absent: memory: not supported" in done.stdout
    assert "utilisation 0 %, memory 0.0 of 71.0 GiB" in done.stdout
    assert "time of a round: first" in done.stdout
