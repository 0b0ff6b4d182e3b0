"""What NVML offers is reported, what it does not offer is absent with its reason.

No hang, crash or lost GPU of the driver reaches the agent.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from hub_ext.errors import IntruderError
from hub_ext.lease import DeviceSample
from hub_ext.telemetry.guarded import GuardedNvml
from hub_ext.telemetry.nvml import check_bindings
from hub_ext.telemetry.sample import Reading
from tests.support.nvml import GIB, NOBODY, FakeDriver, until


def only(reading: Reading) -> DeviceSample:
    (sample,) = reading.devices
    return sample


def fresh(reading: Reading) -> bool:
    return bool(reading.devices)


def test_a_whole_gpu_has_its_figures(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpu = driver.add_gpu()
    gpu.util, gpu.used = 37, 20 * GIB
    reading = until(reader, fresh)
    (device,) = reading.inventory.devices
    assert (device.id, device.node, device.gpu) == ("GPU-00000000", "node-1", 0)
    assert (device.model, device.mig_profile, device.simulated) == ("NVIDIA H200", None, False)
    assert reading.inventory.source == "nvml"
    assert reading.inventory.problem == ""
    sample = only(reading)
    assert (sample.util_percent, sample.memory_used_bytes) == (37, 20 * GIB)
    assert sample.memory_total_bytes == 141 * GIB
    assert sample.absent == ""


def test_a_figure_changes_under_a_running_reader(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpu = driver.add_gpu()
    until(reader, lambda now: fresh(now) and only(now).util_percent == 0)
    gpu.util = 91
    until(reader, lambda now: fresh(now) and only(now).util_percent == 91)


def test_each_reading_is_given_once(driver: FakeDriver, reader: GuardedNvml) -> None:
    driver.add_gpu()
    until(reader, fresh)
    (again,) = reader.read(NOBODY, datetime.now(UTC))
    assert again.devices == ()
    assert again.inventory.devices != ()


def test_mig_devices_have_uuid_profile_and_placement(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    gpu = driver.add_gpu()
    driver.cut(gpu, ("3g.71gb", 0, 4), ("1g.18gb", 6, 1))
    reading = until(reader, fresh)
    assert [
        (one.id, one.gpu, one.model, one.mig_profile, one.start, one.size)
        for one in reading.inventory.devices
    ] == [
        ("MIG-GPU-00000000-0-0", 0, "NVIDIA H200", "3g.71gb", 0, 4),
        ("MIG-GPU-00000000-0-1", 0, "NVIDIA H200", "1g.18gb", 6, 1),
    ]


def test_mig_utilisation_comes_from_two_samples(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpu = driver.add_gpu()
    driver.cut(gpu, ("1g.18gb", 0, 1))
    gpu.slots[0].util, gpu.slots[0].used = 64, 3 * GIB
    first = only(until(reader, fresh))
    assert first.util_percent is None
    assert first.absent == "utilisation: first reading; the next one tells"
    assert first.memory_used_bytes == 3 * GIB
    until(reader, lambda now: fresh(now) and only(now).util_percent == 64)


def test_mig_without_gpm_has_no_utilisation_never_zero(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    gpu = driver.add_gpu("NVIDIA A100-SXM4-40GB", 40 * GIB)
    driver.cut(gpu, ("1g.5gb", 0, 1))
    gpu.gpm = 0
    sample = only(until(reader, fresh))
    assert sample.util_percent is None
    assert sample.absent == "utilisation: this GPU model has no figure for MIG devices"
    assert sample.memory_total_bytes == 5 * GIB


def test_placement_that_only_root_may_ask_is_absent(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    gpu = driver.add_gpu()
    driver.cut(gpu, ("1g.18gb", 3, 1))
    gpu.info_code = 4
    (device,) = until(reader, fresh).inventory.devices
    assert (device.mig_profile, device.start, device.size) == ("1g.18gb", None, None)


def test_a_mig_device_whose_name_is_new_is_named_by_its_attributes(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    gpu = driver.add_gpu()
    driver.cut(gpu, ("2g.35gb", 0, 2))
    gpu.slots[0].name = b"NVIDIA H200 instance"
    (device,) = until(reader, fresh).inventory.devices
    assert device.mig_profile == "2g.35gb"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (3, "not supported by this GPU or driver"),
        (4, "no permission"),
        (13, "the driver is too old for it"),
        (77, "NVML error 77"),
    ],
)
def test_a_refused_figure_is_absent_and_the_other_stays(
    driver: FakeDriver, reader: GuardedNvml, code: int, reason: str
) -> None:
    gpu = driver.add_gpu()
    gpu.util_code, gpu.used = code, GIB
    sample = only(until(reader, fresh))
    assert sample.util_percent is None
    assert sample.absent.startswith(f"utilisation: {reason}")
    assert sample.memory_used_bytes == GIB


def test_rubbish_from_the_driver_is_not_believed(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpu = driver.add_gpu()
    gpu.util, gpu.used = 4_000_000, 200 * GIB
    sample = only(until(reader, fresh))
    assert (sample.util_percent, sample.memory_used_bytes) == (None, None)
    assert "the driver says 4000000 %" in sample.absent
    assert "memory: the driver says" in sample.absent


def test_a_little_over_a_hundred_is_a_hundred(driver: FakeDriver, reader: GuardedNvml) -> None:
    driver.add_gpu().util = 103
    assert only(until(reader, fresh)).util_percent == 100


def test_a_lost_gpu_is_absent_while_the_other_goes_on(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    lost, well = driver.add_gpu(), driver.add_gpu()
    well.util = 50
    until(reader, lambda now: len(now.devices) == 2)
    lost.code = 15
    reading = until(reader, lambda now: len(now.devices) == 2 and len(now.inventory.devices) == 1)
    gone, there = reading.devices
    assert gone.util_percent is None
    assert "the GPU is lost and needs a reset" in gone.absent
    assert there.util_percent == 50
    assert "GPU-00000000: the GPU is lost" in reading.inventory.problem
    lost.code = 0
    until(reader, lambda now: len(now.inventory.devices) == 2 and not now.inventory.problem)


def test_a_gpu_cut_anew_is_found_anew(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpu = driver.add_gpu()
    driver.cut(gpu, ("3g.71gb", 0, 4), ("3g.71gb", 4, 4))
    until(reader, lambda now: len(now.devices) == 2)
    driver.cut(gpu, ("1g.18gb", 0, 1), generation=1)
    reading = until(
        reader, lambda now: [one.device for one in now.devices] == ["MIG-GPU-00000000-1-0"]
    )
    assert [one.mig_profile for one in reading.inventory.devices] == ["1g.18gb"]


def test_no_driver_is_a_problem_in_words(driver: FakeDriver, reader: GuardedNvml) -> None:
    driver.world.code = 9
    reading = until(reader, lambda now: bool(now.inventory.problem))
    assert reading.inventory.devices == ()
    assert reading.inventory.problem == (
        "NVML cannot be used: no NVIDIA driver is loaded on this node"
    )
    driver.add_gpu()
    driver.world.code = 0
    until(reader, fresh)


def test_access_taken_away_is_unknown_for_every_known_device(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    driver.add_gpu()
    until(reader, fresh)
    driver.world.code = 999
    sample = only(until(reader, lambda now: fresh(now) and bool(only(now).absent)))
    assert sample.util_percent is None
    assert "access to the GPU was taken away" in sample.absent
    driver.world.code = 0
    until(reader, lambda now: fresh(now) and only(now).util_percent == 0)


def test_a_driver_upgraded_under_us_gets_a_new_process(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    driver.add_gpu()
    until(reader, fresh)
    first = reader._child
    driver.world.code = 18
    until(reader, lambda now: fresh(now) and only(now).util_percent is None)
    driver.world.code = 0
    until(reader, lambda now: fresh(now) and only(now).util_percent == 0)
    assert reader._child is not first


def test_a_crash_in_the_driver_ends_the_child_alone(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    driver.add_gpu()
    until(reader, fresh)
    driver.world.crash = 1
    reading = until(reader, lambda now: fresh(now) and bool(only(now).absent))
    assert only(reading).util_percent is None
    assert "the reader of NVML ended (status -6)" in reading.inventory.problem
    driver.world.crash = 0
    until(reader, lambda now: fresh(now) and only(now).util_percent == 0)


def test_a_hang_is_unknown_and_recovers(driver: FakeDriver, reader: GuardedNvml) -> None:
    driver.add_gpu().util = 88
    until(reader, lambda now: fresh(now) and only(now).util_percent == 88)
    child = reader._child
    assert child is not None
    driver.world.hang = 1
    reading = until(reader, lambda now: fresh(now) and bool(only(now).absent))
    assert only(reading).util_percent is None
    assert "NVML does not answer" in only(reading).absent
    assert reading.inventory.devices == ()
    until(reader, lambda _now: child.returncode is not None)
    driver.world.hang = 0
    until(reader, lambda now: fresh(now) and only(now).util_percent == 88)


@pytest.fixture
def slow_reader(driver: FakeDriver) -> Iterator[GuardedNvml]:
    """A reader that is patient enough to tell a GPU that hangs from a machine under load."""
    made = GuardedNvml(node="node-1", period_s=0.5, environment=driver.environment)
    yield made
    made.close()


def test_a_gpu_that_hangs_holds_up_no_other_and_comes_back(
    driver: FakeDriver, slow_reader: GuardedNvml
) -> None:
    reader = slow_reader
    well, hung, also = (driver.add_gpu() for _number in range(3))
    for gpu in (well, hung, also):
        gpu.util = 20
    until(reader, lambda now: len(now.devices) == 3)
    child = reader._child
    hung.hang = 1
    well.util = also.util = 60
    reading = until(
        reader,
        lambda now: fresh(now) and not any(one.gpu == 1 for one in now.inventory.devices),
    )
    assert reading.inventory.problem == "GPU 1: NVML does not answer for it"
    for _round in range(4):
        now = until(reader, fresh)
        assert [one.util_percent for one in now.devices] == [60, None, 60]
        assert now.devices[1].absent == "NVML does not answer for this GPU"
    hung.hang = 0
    back = until(reader, lambda now: [one.util_percent for one in now.devices] == [60, 20, 60])
    assert len(back.inventory.devices) == 3
    assert back.inventory.problem == ""
    assert reader._child is child, "the others lost no reading"


def test_where_every_gpu_hangs_the_child_is_ended(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpus = [driver.add_gpu() for _number in range(2)]
    until(reader, fresh)
    child = reader._child
    assert child is not None
    for gpu in gpus:
        gpu.hang = 1
    reading = until(reader, lambda now: fresh(now) and all(one.absent for one in now.devices))
    until(reader, lambda now: now.inventory.devices == ())
    until(reader, lambda _now: child.returncode is not None)
    assert reading is not None
    for gpu in gpus:
        gpu.hang = 0
    until(reader, lambda now: fresh(now) and now.devices[0].util_percent == 0)


def test_no_second_child_while_the_first_cannot_be_ended(
    driver: FakeDriver, reader: GuardedNvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.add_gpu()
    until(reader, fresh)
    child = reader._child
    assert child is not None
    end, monkeypatch_end = child.kill, lambda: None
    monkeypatch.setattr(child, "kill", monkeypatch_end)
    driver.world.hang = 1
    until(reader, lambda now: "cannot be ended" in now.inventory.problem)
    assert reader._child is child
    monkeypatch.setattr(child, "kill", end)


def test_cached_handles_keep_the_driver_quiet(driver: FakeDriver, reader: GuardedNvml) -> None:
    for _number in range(8):
        gpu = driver.add_gpu()
        driver.cut(gpu, *[("1g.18gb", start, 1) for start in range(7)])
    until(reader, lambda now: len(now.devices) == 56 and now.devices[0].util_percent is not None)
    counts = []
    for _round in range(4):
        before = driver.world.calls
        until(reader, fresh)
        counts.append(driver.world.calls - before)
    assert min(counts) <= 250


def test_the_child_ends_with_its_parent(driver: FakeDriver) -> None:
    driver.add_gpu()
    code = (
        "import sys, time\n"
        "from datetime import UTC, datetime\n"
        "from hub_ext.lease import WatchList\n"
        "from hub_ext.telemetry.guarded import GuardedNvml\n"
        f"reader = GuardedNvml(node='n', period_s=0.1, environment={driver.environment!r})\n"
        "while not reader.read(WatchList(leases=()), datetime.now(UTC)): time.sleep(0.05)\n"
        "print(reader._child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as parent:
        try:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            driver.world.hang = 1
        finally:
            parent.kill()
    end = time.monotonic() + 5
    while _lives(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123 - one line of /proc
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_look_alike_package_is_refused() -> None:
    check_bindings()
    old = SimpleNamespace(__file__="/site-packages/pynvml/__init__.py", nvmlGpmMigSampleGet=1)
    with pytest.raises(IntruderError, match="pip uninstall pynvml"):
        check_bindings(old)
    ancient = SimpleNamespace(__file__="/site-packages/pynvml.py")
    with pytest.raises(IntruderError, match=r"nvidia-ml-py of 13\.580"):
        check_bindings(ancient)
