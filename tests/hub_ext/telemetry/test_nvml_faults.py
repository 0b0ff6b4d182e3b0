"""Uncorrected memory errors, Xids and the driver's wish for a reset, and since when they are there.

What the driver could not be asked is no health at all: nobody takes it for sound.
"""

from datetime import UTC, datetime

from hub_ext.lease import DeviceId, FaultSign
from hub_ext.telemetry.guarded import GuardedNvml
from hub_ext.telemetry.sample import Reading
from tests.support.nvml import FakeDriver, until


def signs(reading: Reading) -> dict[DeviceId, list[tuple[str, int]]]:
    return {one.device: [(sign.kind, sign.code) for sign in one.signs] for one in reading.health}


def first(reading: Reading) -> FaultSign:
    return reading.health[0].signs[0]


def test_a_sound_gpu_has_no_sign(driver: FakeDriver, reader: GuardedNvml) -> None:
    driver.add_gpu()
    reading = until(reader, lambda now: bool(now.health))
    assert signs(reading) == {"GPU-00000000": []}


def test_memory_errors_are_counted_from_the_last_look_without_them(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    sound, gpu = driver.add_gpu(), driver.add_gpu()
    clean = until(reader, lambda now: len(now.health) == 2)
    gpu.ecc = 3
    reading = until(reader, lambda now: bool(now.health and now.health[1].signs))
    assert signs(reading) == {"GPU-00000000": [], "GPU-00000001": [("ecc", 3)]}
    [sign] = reading.health[1].signs
    assert clean.inventory.at <= sign.since < reading.inventory.at
    later = until(reader, lambda now: bool(now.health) and now.inventory.at > reading.inventory.at)
    assert later.health[1].signs[0].since == sign.since, "it is the same fault"
    gpu.ecc = 0
    until(reader, lambda now: bool(now.health) and not now.health[1].signs)
    assert sound.ecc == 0


def test_what_was_there_at_the_first_look_counts_from_then(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    began = datetime.now(UTC)
    driver.add_gpu().ecc = 1
    assert first(until(reader, lambda now: bool(now.health))).since >= began


def test_an_xid_is_told_for_good_and_by_every_device_of_its_gpu(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    cut, well = driver.add_gpu(), driver.add_gpu()
    driver.cut(cut, ("3g.71gb", 0, 4), ("3g.71gb", 4, 4))
    until(reader, lambda now: len(now.health) == 3)
    cut.xid = 79
    found = until(reader, lambda now: bool(now.health and now.health[0].signs))
    assert signs(found) == {
        "MIG-GPU-00000000-0-0": [("xid", 79)],
        "MIG-GPU-00000000-0-1": [("xid", 79)],
        "GPU-00000001": [],
    }
    cut.xid = 31
    until(reader, lambda now: bool(now.health) and len(now.health[0].signs) == 2)
    assert cut.xid == 0
    assert well.xid == 0


def test_the_driver_may_ask_for_a_reset(driver: FakeDriver, reader: GuardedNvml) -> None:
    gpu = driver.add_gpu()
    gpu.recovery = 1
    until(reader, lambda now: signs(now) == {"GPU-00000000": [("recovery", 1)]})
    gpu.recovery = 0
    until(reader, lambda now: signs(now) == {"GPU-00000000": []})


def test_what_a_gpu_does_not_count_speaks_against_nothing(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    gpu = driver.add_gpu("NVIDIA GeForce")
    gpu.ecc_code = gpu.recovery_code = 3
    until(reader, lambda now: signs(now) == {"GPU-00000000": []})


def test_a_gpu_that_cannot_be_asked_has_no_health(driver: FakeDriver, reader: GuardedNvml) -> None:
    driver.add_gpu()
    gpu = driver.add_gpu()
    until(reader, lambda now: len(now.health) == 2)
    gpu.ecc_code = 999
    until(reader, lambda now: signs(now) == {"GPU-00000000": []})
    gpu.ecc_code, gpu.code = 0, 15
    until(reader, lambda now: bool(now.health) and len(now.inventory.devices) == 1)
    gpu.code = 0
    until(reader, lambda now: len(now.health) == 2)
    gpu.xid = 119
    until(reader, lambda now: bool(now.health) and bool(now.health[-1].signs))
