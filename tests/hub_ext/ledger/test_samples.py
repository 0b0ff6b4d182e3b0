"""Readings and hourly sums: order-free, unknown stays unknown, broken files hurt nobody."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub_ext.lease import DeviceId, DeviceSample, LeaseId, ProcessSample, SampleBatch
from hub_ext.ledger import readings
from hub_ext.ledger.samples import FILE, Samples
from hub_ext.units import instant_us
from tests.support.ledger_parts import NOON, SECOND

ONE, TWO = DeviceId("GPU-1"), DeviceId("GPU-2")
LEASE = LeaseId("L1")
HOUR = timedelta(hours=1)
LATER = NOON + 60 * SECOND


@pytest.fixture
def samples(tmp_path: Path) -> Iterator[Samples]:
    opened = Samples.open(tmp_path)
    yield opened
    opened.close()


def reading(second: int, util: int | None, device: DeviceId = ONE) -> DeviceSample:
    return DeviceSample(
        device=device,
        at=NOON + second * SECOND,
        util_percent=util,
        memory_used_bytes=None if util is None else 1 << 30,
        memory_total_bytes=1 << 37,
        absent="" if util is not None else "MIG has no utilisation",
    )


def batch(*devices: DeviceSample, processes: tuple[ProcessSample, ...] = ()) -> SampleBatch:
    return SampleBatch(
        node="n1",
        source="simulated",
        sent_at=NOON,
        period_s=10,
        devices=devices,
        processes=processes,
    )


def test_readings_come_back_as_they_went_in(samples: Samples) -> None:
    process = ProcessSample(lease_id=LEASE, at=NOON, cpu_millis=1500, processes=3)
    given = (reading(0, 80), reading(10, None))
    for _twice in range(2):
        samples.add(batch(*given, processes=(process,)), now=LATER, holders={ONE: LEASE})
    assert samples.recent(ONE, NOON) == given
    assert samples.recent(ONE, NOON + SECOND) == given[1:]
    assert samples.recent(TWO, NOON) == ()
    assert samples.recent_processes(LEASE, NOON) == (process,)
    assert samples.problem == ""


def test_use_is_a_mean_over_known_time_and_no_more(samples: Samples) -> None:
    samples.add(batch(reading(0, 80), reading(10, 40)), now=LATER, holders={ONE: LEASE})
    samples.add(batch(reading(20, None)), now=LATER, holders={ONE: LEASE})
    samples.add(batch(reading(30, 90)), now=LATER, holders={})
    use = samples.used(NOON, NOON + HOUR)[LEASE]
    assert (use.sampled_s, use.percent_seconds, use.peak_percent) == (20, 1200, 80)
    assert samples.used(NOON + HOUR, NOON + 2 * HOUR) == {}


def test_a_lease_with_two_devices_counts_once(samples: Samples) -> None:
    both = batch(reading(0, 100), reading(0, 0, TWO))
    samples.add(both, now=NOON, holders={ONE: LEASE, TWO: LEASE})
    use = samples.used(NOON, NOON + HOUR)[LEASE]
    assert (use.sampled_s, use.percent_seconds, use.peak_percent) == (10, 500, 100)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given=st.lists(
        st.tuples(st.integers(-7200, 7200), st.none() | st.integers(0, 100)),
        unique_by=lambda one: one[0],
        max_size=20,
    ),
    data=st.data(),
)
def test_sums_do_not_depend_on_order_or_repetition(
    tmp_path: Path, given: list[tuple[int, int | None]], data: st.DataObject
) -> None:
    (tmp_path / FILE).unlink(missing_ok=True)
    samples = Samples.open(tmp_path)
    shuffled = data.draw(st.permutations(given + given[: len(given) // 2]))
    now = NOON + 3 * HOUR
    for second, util in shuffled:
        samples.add(batch(reading(second, util)), now=now, holders={ONE: LEASE})
    use = samples.used(NOON - 2 * HOUR, NOON + 3 * HOUR).get(LEASE)
    known = [util for _second, util in given if util is not None]
    assert samples.problem == ""
    if given:
        assert use
        assert use.sampled_s == 10 * len(known)
        assert use.percent_seconds == 10 * sum(known)
    else:
        assert use is None
    samples.close()
    for tail in ("-wal", "-shm"):
        (tmp_path / (FILE + tail)).unlink(missing_ok=True)


def test_readings_of_a_wrong_clock_are_left_out(samples: Samples) -> None:
    wrong = (reading(3600, 50), reading(3, 50), reading(-90_000, 50))
    samples.add(batch(*wrong, reading(0, 5)), now=NOON, holders={ONE: LEASE})
    assert samples.recent(ONE, NOON - 99 * HOUR) == (reading(0, 5),)


def test_old_readings_go_and_their_sums_stay(samples: Samples) -> None:
    samples.add(batch(reading(0, 50)), now=NOON, holders={ONE: LEASE})
    later = NOON + readings.RAW_KEPT + HOUR
    samples.add(batch(), now=later, holders={})
    assert samples.recent(ONE, NOON - HOUR) == ()
    assert samples.used(NOON, NOON + HOUR)[LEASE].sampled_s == 10
    samples.add(batch(), now=NOON + readings.ROLLUPS_KEPT + 2 * HOUR, holders={})
    assert samples.used(NOON, NOON + HOUR) == {}


def test_a_great_many_old_readings_go_with_several_batches(
    samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings.prune, "__kwdefaults__", {"most": 10})
    samples.add(batch(*(reading(n, 50) for n in range(35))), now=LATER, holders={ONE: LEASE})
    later = NOON + readings.RAW_KEPT + HOUR
    left = []
    for _batch in range(5):
        samples.add(batch(), now=later, holders={})
        left.append(len(samples.recent(ONE, NOON)))
    assert left == [25, 15, 5, 0, 0]
    assert samples.used(NOON, LATER)[LEASE].peak_percent == 50


def test_a_file_that_is_no_database_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"nonsense" * 1000)
    samples = Samples.open(tmp_path)
    assert "was damaged" in samples.problem
    assert (tmp_path / f"{FILE}.damaged-1").read_bytes().startswith(b"nonsense")
    samples.add(batch(reading(0, 80)), now=NOON, holders={})
    assert samples.recent(ONE, NOON) == (reading(0, 80),)
    assert "was damaged" in samples.problem
    samples.close()


def test_a_file_that_breaks_while_open_is_moved_aside(tmp_path: Path) -> None:
    samples = Samples.open(tmp_path)
    many = [reading(second, 50) for second in range(2000)]
    samples.add(batch(*many), now=NOON + HOUR, holders={})
    samples.close()
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    assert samples.recent(ONE, NOON - HOUR) == ()
    assert "was damaged" in samples.problem
    samples.add(batch(reading(0, 80)), now=NOON, holders={})
    assert samples.recent(ONE, NOON) == (reading(0, 80),)
    samples.close()


def test_another_layout_is_moved_aside(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("CREATE TABLE sample (device TEXT, at INTEGER)")
    connection.close()
    samples = Samples.open(tmp_path)
    assert "another version" in samples.problem
    samples.add(batch(reading(0, 80)), now=NOON, holders={})
    assert len(samples.recent(ONE, NOON)) == 1
    samples.close()


def test_a_locked_file_loses_readings_but_raises_nothing(
    samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub_ext.ledger.sqlite.BUSY_S", 0.05)
    samples.close()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    samples.add(batch(reading(0, 80)), now=NOON, holders={})
    assert "locked" in samples.problem
    other.execute("ROLLBACK")
    other.close()
    samples.add(batch(reading(10, 80)), now=LATER, holders={})
    assert samples.problem == ""
    assert samples.recent(ONE, NOON) == (reading(10, 80),)


def test_no_directory_and_no_number_too_large_raise(samples: Samples, tmp_path: Path) -> None:
    nowhere = Samples.open(tmp_path / "absent")
    nowhere.add(batch(reading(0, 80)), now=NOON, holders={})
    assert nowhere.recent(ONE, NOON) == ()
    assert nowhere.used(NOON, NOON + HOUR) == {}
    assert nowhere.problem
    huge = reading(0, 80).model_copy(update={"memory_used_bytes": 2**70})
    samples.add(batch(huge), now=NOON, holders={})
    assert samples.problem
    assert samples.recent(ONE, NOON) == ()


def test_a_file_of_an_older_version_is_widened_and_keeps_its_readings(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as file, file:
        file.execute(
            "CREATE TABLE sample (device TEXT, at BIGINT, util_percent BIGINT, "
            "memory_used_bytes BIGINT, memory_total_bytes BIGINT, absent TEXT NOT NULL, "
            "PRIMARY KEY (device, at))"
        )
        file.execute("INSERT INTO sample VALUES (?, ?, 7, 1, 2, '')", (ONE, instant_us(NOON)))
    samples = Samples.open(tmp_path)
    (kept,) = samples.recent(ONE, NOON)
    assert (kept.util_percent, kept.processes, samples.problem) == (7, None, "")
    samples.close()
