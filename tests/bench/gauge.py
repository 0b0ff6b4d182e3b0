"""What a part of a process took: CPU seconds, wall seconds and MiB above what it had before."""

import time
from pathlib import Path


class Gauge:
    """Counts from when it is made."""

    def __init__(self) -> None:
        # Linux forgets the highest so far, so that what came before counts for nothing.
        Path("/proc/self/clear_refs").write_text("5", "ascii")
        self._before_kib = _kib("VmRSS")
        self._cpu_s, self._wall_s = time.process_time(), time.monotonic()

    def take(self) -> dict[str, float]:
        """Read it."""
        return {
            "cpu_s": time.process_time() - self._cpu_s,
            "wall_s": time.monotonic() - self._wall_s,
            "mib": (_kib("VmHWM") - self._before_kib) / 1024,
        }


def _kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
