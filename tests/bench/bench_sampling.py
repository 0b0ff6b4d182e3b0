"""One round over 8 GPUs of 7 MIG devices, through the real bindings and the driver for tests."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import run

from tests.bench.table import Row
from tests.support.nvml import GIB, FakeDriver, compile_stub

ROOT = Path(__file__).parents[2]
GPUS, PARTS = 8, 7
CALLS, CPU_MS = 250, 1.0


def rows() -> Iterator[Row]:
    """Measure in a process of its own: the loader looks for the driver when one starts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with FakeDriver(compile_stub(folder), folder / "world") as driver:
            for _number in range(GPUS):
                gpu = driver.add_gpu()
                driver.cut(gpu, *(("1g.18gb", start, 1) for start in range(PARTS)))
                driver.run(gpu, (4001, 1, GIB))
            del gpu
            done = run(
                [sys.executable, "-m", "tests.support.nvml_rounds"],
                cwd=ROOT,
                env={**os.environ, **driver.environment},
                capture_output=True,
                check=True,
            )
    found = json.loads(done.stdout)
    what = f"reading {GPUS} GPUs of {PARTS} MIG devices"
    yield _row(f"{what}: calls a round", found["calls"], CALLS, "")
    yield _row(f"{what}: CPU a round", found["cpu_ms"], CPU_MS, " ms")
    yield _row(f"{what}: CPU a round, 95 of 100", found["slowest_ms"], CPU_MS, " ms")


def _row(what: str, ours: float, limit: float, unit: str) -> Row:
    return Row(what, f"{ours:.2f}{unit}", f"limit {limit:g}{unit}", f"{ours / limit:.2f}")
