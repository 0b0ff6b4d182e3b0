"""Read the GPUs of this machine a few times and print what the driver offers, and what not.

Runs the product's own reader, so what it prints is what the agent reports. `make gpu-check`.
"""

import sys
import time
from datetime import UTC, datetime

from hub_ext.lease import DeviceSample
from hub_ext.telemetry.guarded import driver_found
from hub_ext.telemetry.nvml import Driver, check_bindings

ROUNDS = 20
BETWEEN_S = 0.25


def _line(sample: DeviceSample) -> str:
    percent = "unknown" if sample.util_percent is None else f"{sample.util_percent} %"
    if sample.memory_used_bytes is None or sample.memory_total_bytes is None:
        memory = "unknown"
    else:
        used, total = sample.memory_used_bytes / 2**30, sample.memory_total_bytes / 2**30
        memory = f"{used:.1f} of {total:.1f} GiB"
    absent = f"; absent: {sample.absent}" if sample.absent else ""
    return f"  {sample.device}: utilisation {percent}, memory {memory}{absent}"


def main() -> int:
    """Print the report; 0 also where there is no GPU, 1 where a driver is there and fails."""
    if not driver_found():
        print("no GPU here")
        return 0
    check_bindings()
    driver = Driver("localhost")
    spent_ms = []
    for _round in range(ROUNDS):
        started = time.perf_counter()
        reading = driver.read(datetime.now(UTC))
        spent_ms.append((time.perf_counter() - started) * 1000)
        time.sleep(BETWEEN_S)
    print(f"{len(reading.inventory.devices)} devices")
    for device in reading.inventory.devices:
        cut = f" {device.mig_profile} at {device.start}" if device.mig_profile else " whole"
        print(f"  GPU {device.gpu}: {device.model},{cut}, {device.id}")
    print("figures")
    for sample in reading.devices:
        print(_line(sample))
    print(f"problem: {reading.inventory.problem or 'none'}")
    first, *later = spent_ms
    later.sort()
    print(
        f"time of a round: first {first:.1f} ms, then p50 {later[len(later) // 2]:.2f} ms, "
        f"worst {later[-1]:.2f} ms of {len(later)}"
    )
    return 1 if reading.inventory.problem else 0


if __name__ == "__main__":
    sys.exit(main())
