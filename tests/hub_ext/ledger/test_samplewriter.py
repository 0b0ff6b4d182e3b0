"""Readings are written beside the core: nothing waits for it, nothing is lost, too much is said."""

import threading
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.lease import DeviceId, DeviceSample, LeaseId, SampleBatch
from hub_ext.ledger import samplewriter
from hub_ext.ledger.readings import Taken
from hub_ext.ledger.samples import FILE, Samples
from hub_ext.ledger.samplewriter import SampleWriter

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
ONE = DeviceId("GPU-1")
LEASE = LeaseId("l-1")


def taken(second: int, util: int = 50) -> Taken:
    at = NOON + timedelta(seconds=second)
    sample = DeviceSample(
        device=ONE, at=at, util_percent=util, memory_used_bytes=1, memory_total_bytes=2
    )
    batch = SampleBatch(node="n", source="nvml", sent_at=at, period_s=10, devices=(sample,))
    return Taken(batch, at, {ONE: LEASE})


def add(samples: Samples, second: int) -> None:
    one = taken(second)
    samples.add(one.batch, now=one.now, holders=one.holders)


@pytest.fixture
def samples(tmp_path: Path) -> Iterator[Samples]:
    made = Samples.open(tmp_path)
    made.write_aside()
    yield made
    made.close()


def test_what_is_added_is_there_a_moment_later_in_order_and_once(samples: Samples) -> None:
    for second in (0, 10, 10, 20, 0):
        add(samples, second)
    samples.settle()
    assert [one.at.second for one in samples.recent(ONE, NOON)] == [0, 10, 20]
    assert samples.used(NOON, NOON + timedelta(hours=1))[LEASE].sampled_s == 30


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    samples = Samples.open(tmp_path)
    samples.write_aside()
    add(samples, 0)
    samples.close()
    again = Samples.open(tmp_path)
    assert len(again.recent(ONE, NOON)) == 1
    again.close()


def test_a_file_that_breaks_under_it_is_moved_aside_for_readers_too(
    samples: Samples, tmp_path: Path
) -> None:
    add(samples, 0)
    samples.settle()
    assert len(samples.recent(ONE, NOON)) == 1
    for tail in ("", "-wal", "-shm"):
        (tmp_path / (FILE + tail)).write_bytes(b"no database at all" * 500)
    add(samples, 10)
    samples.settle()
    add(samples, 20)
    samples.settle()
    assert "was damaged" in samples.problem
    assert [one.at.second for one in samples.recent(ONE, NOON)] == [20]


class SlowStore:
    """A store whose disk waits for a gate."""

    def __init__(self) -> None:
        self.moved = 0
        self.problem = ""
        self.began, self.gate = threading.Event(), threading.Event()
        self.groups: list[list[datetime]] = []

    def write(self, group: Collection[Taken]) -> None:
        self.began.set()
        self.gate.wait(30)
        self.groups.append([one.now for one in group])

    def close(self) -> None:
        """Nothing to let go of."""


def test_nobody_waits_for_a_slow_disk_and_what_gathers_is_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(samplewriter, "MOST_WAITING", 3)
    store = SlowStore()
    writer = SampleWriter(store)
    writer.put(taken(0))
    assert store.began.wait(10)
    for second in range(10, 60, 10):
        writer.put(taken(second))
    assert writer.problem == (
        "2 batches of readings were not kept: the disk does not write them in time"
    )
    store.gate.set()
    writer.settle()
    assert writer.problem == ""
    writer.close()
    assert [[at.second for at in group] for group in store.groups] == [[0], [30, 40, 50]]
