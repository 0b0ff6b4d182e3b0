"""Processes, power and what Hopper tells besides: each a figure, or absent."""

import time

import pytest

from hub_ext.lease import DeviceSample
from hub_ext.telemetry.guarded import GuardedNvml
from hub_ext.telemetry.sample import Reading
from tests.support.nvml import GIB, PERIOD_S, FakeDriver, until

NO_PERMISSION = 4
NONE = 0xFFFFFFFF


def sample(reading: Reading, number: int = 0) -> DeviceSample:
    return reading.devices[number]


def full(reading: Reading, count: int = 1) -> bool:
    return len(reading.devices) == count


def test_processes_are_counted_with_those_that_came_or_went(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    gpu = driver.add_gpu()
    driver.run(gpu, (4001, NONE, 3 * GIB))
    reading = until(reader, lambda one: full(one) and sample(one).process_changes == 0)
    assert sample(reading).processes == 1
    assert reading.processes is not None
    assert [(one.pid, one.memory_bytes) for one in reading.processes] == [(4001, 3 * GIB)]
    driver.run(gpu, (4002, NONE, GIB), (4003, NONE, GIB))
    until(reader, lambda one: full(one) and sample(one).process_changes == 3)
    driver.run(gpu)
    reading = until(reader, lambda one: full(one) and sample(one).processes == 0)
    assert reading.processes == ()


@pytest.mark.parametrize("row", [(0, NONE, GIB), (314572800, NONE, 0), (4001, 77, GIB)])
def test_a_row_that_cannot_be_makes_the_list_unknown_and_leaves_the_rest(
    driver: FakeDriver, reader: GuardedNvml, row: tuple[int, int, int]
) -> None:
    gpu = driver.add_gpu()
    if row[1] != NONE:
        driver.cut(gpu, ("1g.18gb", 0, 1))
    driver.run(gpu, row)
    reading = until(reader, full)
    assert sample(reading).processes is None
    assert sample(reading).memory_used_bytes == 0


def test_more_memory_than_there_is_is_no_process(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpu = driver.add_gpu()
    driver.run(gpu, (4001, NONE, 200 * GIB))
    assert sample(until(reader, full)).processes is None


@pytest.mark.parametrize("code", [0, NO_PERMISSION])
def test_processes_of_mig_devices_are_told_apart_with_and_without_the_right_to_ask_the_gpu(
    driver: FakeDriver, reader: GuardedNvml, code: int
) -> None:
    gpu = driver.add_gpu()
    driver.cut(gpu, ("1g.18gb", 0, 1), ("1g.18gb", 1, 1))
    gpu.process_code = code
    driver.run(gpu, (4001, 2, GIB))
    reading = until(reader, lambda one: full(one, 2) and sample(one, 1).processes == 1)
    assert sample(reading).processes == 0


def test_power_is_the_mean_between_two_readings_and_none_for_a_part(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    gpu = driver.add_gpu()
    gpu.energy = 1000
    until(reader, full)
    end = time.monotonic() + 5
    reading = None
    while time.monotonic() < end and (reading is None or sample(reading).power_mw in {None, 0}):
        gpu.energy += 30_000
        reading = until(reader, full)
    assert reading is not None
    assert (sample(reading).power_mw or 0) > 0
    driver.cut(gpu, ("1g.18gb", 0, 1))
    reading = until(reader, lambda one: full(one) and sample(one).device.startswith("MIG"))
    assert sample(reading).power_mw is None


def test_hopper_tells_how_much_of_it_works_and_older_ones_do_not(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    new, old = driver.add_gpu(), driver.add_gpu("NVIDIA A100")
    new.util, new.sm, new.dram, old.gpm = 80, 35, 20, 0
    reading = until(reader, lambda one: full(one, 2) and sample(one).sm_percent is not None)
    first, second = reading.devices
    assert (first.util_percent, first.sm_percent, first.dram_percent) == (80, 35, 20)
    assert first.pcie_kib_s == 3072
    assert (second.sm_percent, second.pcie_kib_s, second.absent) == (None, None, "")
    assert second.util_percent == 0


def test_a_round_over_56_mig_devices_asks_at_most_250_times(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    for _gpu in range(8):
        gpu = driver.add_gpu()
        driver.cut(gpu, *(("1g.18gb", n, 1) for n in range(7)))
        driver.run(gpu, (4001, 1, GIB))
    until(reader, lambda one: full(one, 56) and one.devices[0].util_percent is not None)
    counts = []
    for _round in range(6):
        before = driver.world.calls
        until(reader, lambda one: full(one, 56))
        time.sleep(PERIOD_S / 2)
        counts.append(driver.world.calls - before)
    assert min(counts) <= 250, counts
