"""A lease's CPU is that of all its processes: named, inherited, hidden or already gone."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from hub_ext.lease import LeaseId, ProcessRef, ProcessSample, WatchItem, WatchList
from hub_ext.telemetry import processes
from hub_ext.telemetry.processes import ProcessMeter

LEASE = LeaseId(f"lease-under-test-{os.getpid()}")
"""Its own in each run: two on one machine see each other's processes."""
BURN = "while True: pass"
IDLE = "import time; time.sleep(600)"
BUSY_MILLIS = 60
"""What a process that never rests surely gets, also of a machine under load."""


@pytest.fixture
def start() -> Iterator[Callable[..., psutil.Popen]]:
    """Start Python with some code; everything that came of it is ended at the end."""
    with ExitStack() as ends:

        def run(code: str, *, lease: str | None = None, stdin: int | None = None) -> psutil.Popen:
            environment = {k: v for k, v in os.environ.items() if k != "GPU_COMMONS_LEASE_ID"}
            if lease is not None:
                environment["GPU_COMMONS_LEASE_ID"] = lease
            made = psutil.Popen(
                [sys.executable, "-c", code],
                env=environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                text=True,
            )
            ends.callback(_end, made)
            return made

        yield run


def _end(top: psutil.Popen) -> None:
    family: list[psutil.Process] = [top]
    with suppress(psutil.NoSuchProcess):
        family += top.children(recursive=True)
    for one in family:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    top.wait(timeout=10)
    for pipe in (top.stdin, top.stdout):
        if pipe is not None:
            pipe.close()


def ref(process: psutil.Popen) -> ProcessRef:
    return ProcessRef(pid=process.pid, created_us=round(process.create_time() * 1_000_000))


def watching(process: ProcessRef | None = None, lease: LeaseId = LEASE) -> WatchList:
    return WatchList(leases=(WatchItem(lease_id=lease, devices=(), process=process),))


def read(meter: ProcessMeter, watch: WatchList) -> ProcessSample:
    (sample,) = meter.read(watch, datetime.now(UTC))
    return sample


def over(meter: ProcessMeter, watch: WatchList, seconds: float = 0.5) -> ProcessSample:
    """Read, wait, and read again."""
    read(meter, watch)
    time.sleep(seconds)
    return read(meter, watch)


def settled(process: psutil.Popen, marker: str = "ready") -> None:
    """Wait until the process says that its stage is set."""
    assert process.stdout is not None
    assert process.stdout.readline().strip() == marker


def test_a_named_process_is_measured(start: Callable[..., psutil.Popen]) -> None:
    start(BURN, lease=LEASE)
    time.sleep(0.2)
    sample = over(ProcessMeter(), watching())
    assert sample.absent == ""
    assert sample.processes == 1
    assert sample.cpu_millis is not None
    assert BUSY_MILLIS < sample.cpu_millis < 1500


def test_a_quiet_process_is_quiet(start: Callable[..., psutil.Popen]) -> None:
    top = start(IDLE, lease=LEASE)
    time.sleep(0.3)
    sample = over(ProcessMeter(), watching(ref(top)))
    assert sample.absent == ""
    assert sample.cpu_millis is not None
    assert sample.cpu_millis < 50


def test_children_count_by_their_parents_without_the_variable(
    start: Callable[..., psutil.Popen],
) -> None:
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'while True: pass'], env={})\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    top = start(code)
    settled(top)
    sample = over(ProcessMeter(), watching(ref(top)))
    assert sample.processes == 2
    assert sample.cpu_millis is not None
    assert sample.cpu_millis > BUSY_MILLIS


def test_a_daemon_that_cut_its_ties_still_belongs(start: Callable[..., psutil.Popen]) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "middle = subprocess.Popen([sys.executable, '-c', '''import subprocess, sys\n"
        'print(subprocess.Popen([sys.executable, "-c", "while True: pass"],'
        " start_new_session=True).pid, flush=True)'''])\n"
        "middle.wait()\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    top = start(code, lease=LEASE)
    assert top.stdout is not None
    daemon = psutil.Process(int(top.stdout.readline()))
    try:
        settled(top)
        sample = over(ProcessMeter(), watching(ref(top)))
        assert sample.processes == 2
        assert sample.cpu_millis is not None
        assert sample.cpu_millis > BUSY_MILLIS
    finally:
        daemon.kill()


def test_a_daemon_without_the_variable_stays_a_member_once_seen(
    start: Callable[..., psutil.Popen],
) -> None:
    code = (
        "import subprocess, sys, time\n"
        "middle = subprocess.Popen([sys.executable, '-c', '''import subprocess, sys, time\n"
        'subprocess.Popen([sys.executable, "-c", "while True: pass"])\n'
        "time.sleep(600)'''])\n"
        "print(middle.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    top = start(code)
    assert top.stdout is not None
    middle = psutil.Process(int(top.stdout.readline()))
    while not middle.children():
        time.sleep(0.02)
    (orphan,) = middle.children()
    meter, watch = ProcessMeter(), watching(ref(top))
    assert read(meter, watch).processes == 3
    middle.kill()
    try:
        sample = over(meter, watch)
        assert orphan.ppid() != middle.pid
        assert sample.cpu_millis is not None
        assert sample.cpu_millis > BUSY_MILLIS
    finally:
        orphan.kill()


def test_children_that_come_and_go_between_reads_are_counted(
    start: Callable[..., psutil.Popen],
) -> None:
    code = (
        "import subprocess, sys\n"
        "print('ready', flush=True)\n"
        "while True: subprocess.run([sys.executable, '-S', '-c', 'sum(range(10**6))'])\n"
    )
    top = start(code, lease=LEASE)
    settled(top)
    sample = over(ProcessMeter(), watching(ref(top)), 1.0)
    assert sample.cpu_millis is not None
    assert sample.cpu_millis > BUSY_MILLIS


def test_the_end_of_a_long_lived_child_is_not_counted_twice(
    start: Callable[..., psutil.Popen],
) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', '''import time\n"
        "while time.process_time() < 1: pass\n"
        "print(\"spent\", flush=True); time.sleep(600)'''])\n"
        "sys.stdin = None\n"
        "import signal\n"
        "signal.signal(signal.SIGUSR1, lambda *_: (child.kill(), child.wait()))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(600)\n"
    )
    top = start(code, lease=LEASE)
    assert {top.stdout.readline().strip() for _line in range(2)} == {"spent", "ready"}
    meter, watch = ProcessMeter(), watching(ref(top))
    read(meter, watch)
    time.sleep(0.3)
    read(meter, watch)
    top.send_signal(10)
    while top.children():
        time.sleep(0.02)
    time.sleep(0.3)
    sample = read(meter, watch)
    assert sample.processes == 1
    assert sample.cpu_millis is not None
    assert sample.cpu_millis < 300


def test_a_lease_named_inside_another_server_is_its_own(
    start: Callable[..., psutil.Popen],
) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'while True: pass'],\n"
        "    env={**os.environ, 'GPU_COMMONS_LEASE_ID': 'another'})\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    top = start(code, lease=LEASE)
    settled(top)
    sample = over(ProcessMeter(), watching(ref(top)))
    assert sample.processes == 1
    assert sample.cpu_millis is not None
    assert sample.cpu_millis < 100


def test_a_lease_that_is_watched_late_is_found(
    start: Callable[..., psutil.Popen], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "YOUNG_S", 0.1)
    start(BURN, lease=LEASE)
    time.sleep(0.2)
    meter = ProcessMeter()
    for _round in range(3):
        meter.read(WatchList(leases=()), datetime.now(UTC))
        time.sleep(0.1)
    assert over(meter, watching(), 0.3).processes == 1


def test_a_reused_pid_is_another_process(start: Callable[..., psutil.Popen]) -> None:
    top = start(IDLE)
    former = ref(top)
    reused = former.model_copy(update={"created_us": former.created_us - 60_000_000})
    sample = over(ProcessMeter(), watching(reused), 0.1)
    assert sample.cpu_millis is None
    assert sample.processes == 0
    assert sample.absent == "no process of this lease is found on this node"


def test_an_ended_server_is_unknown_not_quiet(start: Callable[..., psutil.Popen]) -> None:
    top = start(IDLE, lease=LEASE)
    watch = watching(ref(top))
    meter = ProcessMeter()
    time.sleep(0.2)
    assert over(meter, watch, 0.1).cpu_millis is not None
    _end(top)
    sample = read(meter, watch)
    assert sample.cpu_millis is None
    assert sample.processes == 0


def test_the_first_reading_tells_nothing(start: Callable[..., psutil.Popen]) -> None:
    top = start(IDLE, lease=LEASE)
    sample = read(ProcessMeter(), watching(ref(top)))
    assert (sample.cpu_millis, sample.absent) == (None, "first reading; the next one tells")


def test_an_environment_that_may_not_be_read_is_unknown(
    start: Callable[..., psutil.Popen], monkeypatch: pytest.MonkeyPatch
) -> None:
    top = start(BURN)
    meter, watch = ProcessMeter(), watching(ref(top))
    real = psutil.Process.environ

    def denied(process: psutil.Process) -> dict[str, str]:
        if process.pid == top.pid:
            raise psutil.AccessDenied(process.pid)
        return real(process)

    monkeypatch.setattr(psutil.Process, "environ", denied)
    sample = over(meter, watch, 0.1)
    assert sample.cpu_millis is None
    assert sample.absent == "no right to read the environment of the server's processes"


def test_a_read_costs_little(start: Callable[..., psutil.Popen]) -> None:
    top = start(IDLE, lease=LEASE)
    meter, watch = ProcessMeter(), watching(ref(top))
    read(meter, watch)
    meter._looks = {
        pid: look._replace(since_s=look.since_s - 60) for pid, look in meter._looks.items()
    }
    before = time.process_time()
    for _round in range(20):
        read(meter, watch)
    assert (time.process_time() - before) / 20 < 0.02


def test_what_a_process_writes_to_a_disk_is_read(
    start: Callable[..., psutil.Popen], tmp_path: Path
) -> None:
    code = (
        "import os, sys, time\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        f"f = os.open({str(tmp_path / 'data')!r}, os.O_WRONLY | os.O_CREAT)\n"
        "os.write(f, b'x' * (8 << 20)); os.fsync(f)\n"
        "print('written', flush=True)\n"
        "time.sleep(600)\n"
    )
    top = start(code, lease=LEASE, stdin=subprocess.PIPE)
    settled(top)
    meter, watch = ProcessMeter(), watching(ref(top))
    read(meter, watch)
    assert over(meter, watch, 0.1).disk_bytes_s == 0
    if not counts_writes(tmp_path):
        pytest.skip("this file system counts no bytes written")
    top.stdin.write("go\n")
    top.stdin.flush()
    settled(top, "written")
    moved = read(meter, watch).disk_bytes_s
    assert moved is not None
    assert moved > 1 << 20


def counts_writes(folder: Path) -> bool:
    """Whether the kernel counts what is written here: it does not in memory."""
    me = psutil.Process()
    before = me.io_counters().write_bytes
    (folder / "probe").write_bytes(b"x" * (1 << 20))
    return bool(me.io_counters().write_bytes > before)


def test_a_disk_figure_that_may_not_be_read_is_unknown_and_the_cpu_is_not(
    start: Callable[..., psutil.Popen], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "io_counters", denied)
    sample = over(ProcessMeter(), watching(ref(start(BURN, lease=LEASE))))
    assert sample.disk_bytes_s is None
    assert sample.cpu_millis is not None
    assert sample.cpu_millis > BUSY_MILLIS


def test_the_network_of_the_machine_is_nobodys(start: Callable[..., psutil.Popen]) -> None:
    assert over(ProcessMeter(), watching(ref(start(IDLE, lease=LEASE)))).net_bytes_s is None
