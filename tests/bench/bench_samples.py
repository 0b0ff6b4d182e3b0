"""The store of readings under 10,000 devices every 10 seconds, and the bytes of a day of them."""

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hub_ext.lease import DeviceId, DeviceSample, LeaseId, SampleBatch
from hub_ext.ledger.samples import FILE, Samples
from tests.bench.table import Row, percentiles

NODES, DEVICES, PERIOD_S = 1250, 8, 10
ROUNDS = 6
SHARE, BATCH_MS = 20.0, 20.0
DAY_DEVICES = 1000
"""So many are kept raw for a day; the bytes of fewer rounds are scaled to it."""

START = datetime(2026, 12, 1, tzinfo=UTC)


def rows() -> Iterator[Row]:
    """Hand over each node's batch as it comes, one after the other in one thread."""
    with tempfile.TemporaryDirectory() as name:
        samples = Samples.open(Path(name))
        before, took_s = time.process_time(), []
        for number in range(ROUNDS):
            now = START + timedelta(seconds=number * PERIOD_S)
            for node in range(NODES):
                batch = _batch(node, now)
                began = time.perf_counter()
                samples.add(batch, now=now, holders=_holders(node))
                took_s.append(time.perf_counter() - began)
        cpu_s = time.process_time() - before
        assert not samples.problem, samples.problem
        samples.close()
        size = sum(one.stat().st_size for one in Path(name).glob(f"{FILE}*"))
    share = 100 * cpu_s / (ROUNDS * PERIOD_S)
    devices = NODES * DEVICES
    yield Row(
        f"readings of {devices:,} devices every {PERIOD_S} s: share of a core",
        f"{share:.0f} %",
        f"limit {SHARE:.0f} %",
        f"{share / SHARE:.2f}",
    )
    median_s, late_s = percentiles(took_s)
    yield Row(
        "one node's batch in the store: median, 95 of 100, longest",
        " ".join(f"{1000 * one:.2f}" for one in (median_s, late_s, max(took_s))) + " ms",
        f"limit {BATCH_MS:g} ms",
        f"{1000 * max(took_s) / BATCH_MS:.2f}",
    )
    reading = size / (devices * ROUNDS)
    day = reading * DAY_DEVICES * 86400 / PERIOD_S / 2**30
    yield Row(
        f"a reading on disk; a day of {DAY_DEVICES:,} devices",
        f"{reading:.0f} bytes",
        f"{day:.1f} GiB",
        "",
    )


def _batch(node: int, at: datetime) -> SampleBatch:
    return SampleBatch(
        node=f"node-{node}",
        source="nvml",
        sent_at=at,
        period_s=PERIOD_S,
        devices=tuple(
            DeviceSample(
                device=device,
                at=at,
                util_percent=(node + number) % 100,
                memory_used_bytes=node << 20,
                memory_total_bytes=141 << 30,
                sm_percent=40,
                dram_percent=20,
                processes=1,
                process_changes=0,
            )
            for number, device in enumerate(_holders(node))
        ),
    )


def _holders(node: int) -> dict[DeviceId, LeaseId]:
    return {
        DeviceId(f"GPU-{node:08d}-aaaa-bbbb-cccc-{number:012d}"): LeaseId(f"lease-{node}-{number}")
        for number in range(DEVICES)
    }
