"""A driver for tests: `nvml_stub.c`, compiled once, with its world in a mapped file."""

import ctypes
import mmap
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest

from hub_ext.lease import WatchList
from hub_ext.telemetry.guarded import GuardedNvml
from hub_ext.telemetry.sample import Reading

SOURCE = Path(__file__).with_name("nvml_stub.c")
FLAGS = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Wl,-soname,libnvidia-ml.so.1")
GIB = 2**30
PERIOD_S = 0.15
NOBODY = WatchList(leases=())


class Slot(ctypes.Structure):
    """One MIG device of a GPU."""

    _fields_ = [
        *[(name, ctypes.c_uint32) for name in ("present", "code", "gi", "start", "size", "slices")],
        ("util", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
        ("uuid", ctypes.c_char * 96),
        ("name", ctypes.c_char * 96),
    ]


class Process(ctypes.Structure):
    """A process on a GPU, or on the MIG device with that instance."""

    _fields_ = [
        ("pid", ctypes.c_uint32),
        ("gi", ctypes.c_uint32),
        ("used", ctypes.c_uint64),
    ]


class Gpu(ctypes.Structure):
    """One GPU; a code that is not 0 is what every call about it returns. `xid` is told once."""

    _fields_ = [
        *[(name, ctypes.c_uint32) for name in ("code", "mig", "util", "util_code", "memory_code")],
        *[(name, ctypes.c_uint32) for name in ("gpm", "info_code", "xid", "registered", "ecc")],
        *[(name, ctypes.c_uint32) for name in ("ecc_code", "recovery", "recovery_code")],
        *[(name, ctypes.c_uint32) for name in ("processes", "process_code", "sm", "dram")],
        ("virtualised", ctypes.c_uint32),
        ("hang", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
        ("energy", ctypes.c_uint64),
        ("process", Process * 8),
        ("uuid", ctypes.c_char * 96),
        ("name", ctypes.c_char * 96),
        ("slots", Slot * 8),
    ]


class World(ctypes.Structure):
    """All that the stub knows."""

    _fields_ = [
        *[(name, ctypes.c_uint32) for name in ("magic", "layout", "code", "gpus", "delay_us")],
        ("hang", ctypes.c_uint32),
        ("crash", ctypes.c_uint32),
        ("topology_code", ctypes.c_uint32),
        ("calls", ctypes.c_uint64),
        ("ancestor", ctypes.c_uint32 * 8 * 8),
        ("nvlink", ctypes.c_uint32 * 8 * 8),
        ("gpu", Gpu * 8),
    ]


def compile_stub(folder: Path) -> Path:
    """Compile the stub to `libnvidia-ml.so.1`; skip where the machine has no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine: the driver for tests cannot be built")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, *FLAGS, "-o", str(library), str(SOURCE)],
        check=True,
        timeout=60,
    )
    return folder


class FakeDriver:
    """A world of GPUs that a reader sees, changed by a test while the reader runs."""

    def __init__(self, library: Path, path: Path) -> None:
        self.path = path
        self._library = library
        path.write_bytes(bytes(ctypes.sizeof(World)))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), ctypes.sizeof(World))
        self.world = World.from_buffer(self._map)
        self.world.magic, self.world.layout = 0x6C6D766E, 5

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which a child finds this driver."""
        return {"LD_LIBRARY_PATH": str(self._library), "NVML_STUB_WORLD": str(self.path)}

    def add_gpu(self, name: str = "NVIDIA H200", total: int = 141 * GIB) -> Gpu:
        """Plug in a whole GPU."""
        index = self.world.gpus
        gpu: Gpu = self.world.gpu[index]
        gpu.uuid, gpu.name = f"GPU-{index:08d}".encode(), name.encode()
        gpu.total, gpu.gpm = total, 1
        self.world.gpus = index + 1
        return gpu

    def run(self, gpu: Gpu, *processes: tuple[int, int, int]) -> None:
        """Let (pid, instance, bytes) compute on a GPU, and nothing else."""
        for number, (pid, instance, used) in enumerate(processes):
            one = gpu.process[number]
            one.pid, one.gi, one.used = pid, instance, used
        gpu.processes = len(processes)

    def wire(self, one: int, other: int, level: int, *, nvlink: bool = False) -> None:
        """Say which bridge two GPUs share, in NVML's levels, and whether NVLink joins them."""
        for first, second in ((one, other), (other, one)):
            self.world.ancestor[first][second] = level
            self.world.nvlink[first][second] = int(nvlink)

    def cut(self, gpu: Gpu, *profiles: tuple[str, int, int], generation: int = 0) -> None:
        """Turn MIG on and lay out (profile, start, size); another generation has other UUIDs."""
        for slot in gpu.slots:
            slot.present = 0
        for number, (profile, start, size) in enumerate(profiles):
            slot = gpu.slots[number]
            slot.gi, slot.start, slot.size = number + 1, start, size
            slot.slices = int(profile.split("g")[0])
            slot.total = int(profile.split(".")[1].removesuffix("gb")) * GIB
            slot.uuid = f"MIG-{gpu.uuid.decode()}-{generation}-{number}".encode()
            slot.name = f"{gpu.name.decode()} MIG {profile}".encode()
            slot.present = 1
        gpu.mig = 1

    def close(self) -> None:
        """Let go of the mapped file."""
        del self.world
        self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def until(reader: GuardedNvml, true: Callable[[Reading], bool], *, within_s: float = 30) -> Reading:
    """Read as the agent does until something is true of the reading."""
    end = time.monotonic() + within_s
    readings: tuple[Reading, ...] = ()
    while time.monotonic() < end:
        began = time.monotonic()
        readings = reader.read(NOBODY, datetime.now(UTC))
        assert time.monotonic() - began < 2, "a read waited for the driver"
        if readings and true(readings[0]):
            return readings[0]
        time.sleep(PERIOD_S / 3)
    pytest.fail(f"never came true; last reading: {readings}")
