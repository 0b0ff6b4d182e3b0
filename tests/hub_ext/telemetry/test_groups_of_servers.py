"""Planted workloads of a real process in a group of a made-up machine: each is told, alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.lease import DeviceId, DeviceSample, LeaseId, ProcessSample, WatchItem, WatchList
from hub_ext.policy.model import StarvingRules
from hub_ext.starving import Seen, waits_for
from hub_ext.telemetry.cgroups import Cgroups
from hub_ext.telemetry.processes import ProcessMeter
from tests.support.cgroup_tree import QUIET, CgroupTree

LEASE = LeaseId(f"lease-in-a-group-{os.getpid()}")
WATCH = WatchList(leases=(WatchItem(lease_id=LEASE, devices=(), process=None),))
GROUP = f"/kubepods/burstable/pod{'0' * 32}/{'a' * 64}"
GIB = 1024**3
START = datetime(2026, 12, 1, tzinfo=UTC)
PERIOD_S = 10


@pytest.fixture
def pid() -> Iterator[int]:
    """A quiet process that carries the lease's mark."""
    code = "import time; print(flush=True); time.sleep(600)"
    made = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "GPU_COMMONS_LEASE_ID": LEASE},
        stdout=subprocess.PIPE,
    )
    try:
        assert made.stdout is not None
        made.stdout.readline()
        yield made.pid
    finally:
        made.kill()
        made.communicate()


class Machine:
    """A machine on which time goes in periods, and in each the group counts so much more."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.tree = CgroupTree(folder, "v2")
        self.tree.put(GROUP, pid)
        self.tree.write(GROUP, QUIET)
        self.periods = 0
        self.meter = ProcessMeter(
            steady=lambda: float(PERIOD_S * self.periods),
            cgroups=Cgroups(self.tree.root, self.tree.proc),
        )

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=PERIOD_S * self.periods)

    def read(self) -> ProcessSample:
        (sample,) = self.meter.read(WATCH, self.now)
        return sample

    def work(self, *, cores: float = 0.5, memory_gib: int = 4, **stalled: int) -> ProcessSample:
        """Go on for a period; `stalled` are percent of time by name of the kernel's pressure."""
        self.periods += 1
        used = round(self.periods * PERIOD_S * cores * 1_000_000)
        files = {
            "cpu.stat": f"usage_usec {used}\n",
            "memory.current": f"{memory_gib * GIB}\n",
            "memory.max": f"{8 * GIB}\n",
            "io.stat": f"8:0 rbytes={self.periods * 2**20} wbytes=0\n",
        }
        for name in ("cpu", "io", "memory"):
            waited = self.periods * PERIOD_S * 10_000 * stalled.get(name, 0)
            files[f"{name}.pressure"] = f"some avg10=0.00 total={waited}\n"
        self.tree.write(GROUP, files)
        return self.read()


@pytest.fixture
def machine(tmp_path: Path, pid: int) -> Machine:
    return Machine(tmp_path, pid)


def test_the_group_counts_where_the_lease_has_one(machine: Machine) -> None:
    first = machine.read()
    assert (first.cpu_millis, first.absent) == (None, "first reading; the next one tells")
    sample = machine.work(cores=2.5, io=30)
    assert (sample.scope, sample.cpu_millis, sample.absent) == ("cgroup", 2500, "")
    assert (sample.memory_bytes, sample.memory_limit_bytes) == (4 * GIB, 8 * GIB)
    assert (sample.cpu_stalled_percent, sample.disk_stalled_percent) == (0, 30)
    assert (sample.memory_stalled_percent, sample.memory_full) == (0, 0)
    assert sample.stalled_absent == ""


def test_without_one_its_processes_count_and_the_reason_is_said(machine: Machine, pid: int) -> None:
    machine.tree.seen_at(pid, "/")
    machine.read()
    sample = machine.work(cores=2.5)
    assert (sample.scope, sample.disk_stalled_percent) == ("process", None)
    assert sample.cpu_millis is not None
    assert sample.cpu_millis < 500
    assert sample.stalled_absent == "the server has no control group of its own"


def test_a_server_that_moves_to_another_group_begins_anew(machine: Machine, pid: int) -> None:
    machine.read()
    machine.work(cores=2)
    other = GROUP.replace("a", "b")
    machine.tree.put(other, pid)
    machine.tree.write(other, QUIET)
    moved = machine.work(cores=2)
    assert (moved.scope, moved.disk_stalled_percent) == ("process", None)


WORKLOADS: dict[str, tuple[str, dict[str, int]]] = {
    "one process decodes": ("cpu", {"cores": 1}),
    "more workers than cores": ("cpu", {"cores": 4, "cpu": 60}),
    "small files on a slow drive": ("storage", {"io": 50}),
    "a data set that does not fit": ("server_memory", {"memory_gib": 8, "memory": 40, "io": 60}),
    "all has room": ("none", {"cores": 2, "io": 3, "cpu": 4}),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_planted_workload_is_told_and_no_other(machine: Machine, name: str) -> None:
    cause, load = WORKLOADS[name]
    machine.read()
    samples = [machine.work(**load) for _period in range(6)]
    samples = [one.model_copy(update={"net_bytes_s": 0}) for one in samples]
    gpu = [
        DeviceSample(
            device=DeviceId("GPU-a"),
            at=one.at,
            util_percent=30,
            memory_used_bytes=20 * GIB,
            memory_total_bytes=100 * GIB,
            pcie_kib_s=1000,
        )
        for one in samples
    ]
    found = waits_for(Seen([gpu], samples, cpu_millis=8000), StarvingRules(), machine.now)
    assert found.cause == cause, found.words
    short = [one.name for one in found.evidence if one.state == "short"]
    storage = ["Storage"] if cause == "server_memory" else []
    names = {"cpu": ["CPU"], "storage": ["Storage"], "server_memory": ["Server memory"]}
    assert short == [*names.get(cause, []), *storage]
