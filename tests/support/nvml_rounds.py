"""Reads the driver for tests again and again, and prints what a round costs, as JSON."""

import ctypes
import json
import mmap
import os
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

from hub_ext.telemetry.nvml import Driver

from .nvml import World

ROUNDS = 120
REST_S = 0.11
"""The driver wants a tenth of a second between two samples of a GPU's counters."""


def main() -> None:
    """Measure; the first rounds, which look everything up, are left out."""
    with Path(os.environ["NVML_STUB_WORLD"]).open("r+b") as file:
        world = World.from_buffer(mmap.mmap(file.fileno(), ctypes.sizeof(World)))
    driver = Driver("node-1")
    calls, cpu_ms = [], []
    for _round in range(ROUNDS):
        time.sleep(REST_S)
        before, began = world.calls, time.process_time()
        reading = driver.read(datetime.now(UTC))
        cpu_ms.append(1000 * (time.process_time() - began))
        calls.append(world.calls - before)
        assert all(one.memory_used_bytes is not None for one in reading.devices)
    assert reading.devices[0].util_percent is not None
    figures = {
        "calls": statistics.median(calls[2:]),
        "most_calls": max(calls[2:]),
        "cpu_ms": statistics.median(cpu_ms[2:]),
        "slowest_ms": statistics.quantiles(cpu_ms[2:], n=20)[-1],
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
