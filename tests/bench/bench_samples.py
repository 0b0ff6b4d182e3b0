"""10,000 devices every 10 seconds: the store alone, and a governor from HTTP to the disk.

Each device is held by a running server. The governor is a process of its own, so that its CPU is
its own, and its loop is looked at beside one that has nothing to do.
"""

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from tornado.httpclient import AsyncHTTPClient

from hub_ext.lease import (
    Device,
    DeviceId,
    DeviceSample,
    Inventory,
    LeaseId,
    PoolName,
    SampleBatch,
    WatchList,
)
from hub_ext.ledger.samples import FILE, Samples
from hub_ext.ledger.samplesize import predicted
from tests.bench.samples_site import DEVICES, NODE, NODES, TOKEN, device_id
from tests.bench.stalls import IdleLoop
from tests.bench.table import Row, percentiles

PERIOD_S = 10
ROUNDS = 6
GOVERNOR_ROUNDS = 3
HOUR_DEVICES = 80
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
    yield from _governor()
    yield from _bytes(size / (devices * ROUNDS))


def _bytes(reading: float) -> Iterator[Row]:
    """Hold the bytes that were written against those that are predicted, for a day and a month."""
    size = predicted(DAY_DEVICES, kept=timedelta(days=30))
    yield Row(
        f"a day of {DAY_DEVICES:,} devices, scaled from {reading:.0f} bytes a reading",
        f"{reading * DAY_DEVICES * 86400 / PERIOD_S / 2**30:.2f} GiB",
        f"predicted {size.readings / 2**30:.2f} GiB",
        f"{reading * DAY_DEVICES * 86400 / PERIOD_S / size.readings:.2f}",
    )
    hour, asked_s = _hours()
    month = hour * DAY_DEVICES * 24 * 30
    yield Row(
        f"hourly sums of 30 days of {DAY_DEVICES:,} devices, scaled from {hour:.0f} bytes an hour",
        f"{month / 2**20:.0f} MiB",
        f"predicted {size.hours / 2**20:.0f} MiB",
        f"{month / size.hours:.2f}",
    )
    yield Row(
        f"use of a day out of 30, asked of the hourly sums of {HOUR_DEVICES} devices",
        f"{1000 * asked_s:.0f} ms",
        "",
        "",
    )


def _hours() -> tuple[float, float]:
    """Keep 30 days of hours for some devices, a reading each; give bytes an hour, and a query."""
    with tempfile.TemporaryDirectory() as name:
        samples = Samples.open(Path(name))
        hours = 24 * 30
        for number in range(hours):
            now = START + timedelta(hours=number)
            for node in range(HOUR_DEVICES // DEVICES):
                samples.add(_batch(node, now), now=now, holders=_holders(node))
        began = time.perf_counter()
        end = START + timedelta(hours=hours)
        used = samples.used(end - timedelta(days=1), end)
        took_s = time.perf_counter() - began
        assert len(used) == HOUR_DEVICES
        assert not samples.problem, samples.problem
        samples.close()
        with closing(sqlite3.connect(Path(name) / FILE)) as file:
            query = "SELECT sum(pgsize) FROM dbstat WHERE name GLOB '*rollup_hour*'"
            [size] = file.execute(query).fetchone()
    return size / (hours * HOUR_DEVICES), took_s


def _batch(node: int, at: datetime, *, told: bool = False) -> SampleBatch:
    return SampleBatch(
        node=NODE.format(node),
        source="nvml",
        sent_at=at,
        period_s=PERIOD_S,
        inventory=_inventory(node, at) if told else None,
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


def _inventory(node: int, at: datetime) -> Inventory:
    devices = tuple(
        Device(
            id=device_id(node, number),
            pool=PoolName(""),
            node=NODE.format(node),
            gpu=number,
            model="NVIDIA H200",
        )
        for number in range(DEVICES)
    )
    return Inventory(node=NODE.format(node), source="nvml", at=at, devices=devices)


def _holders(node: int) -> dict[DeviceId, LeaseId]:
    return {device_id(node, number): LeaseId(f"lease-{node}-{number}") for number in range(DEVICES)}


def _governor() -> Iterator[Row]:
    """Post every machine's batch in turn, as agents do that began at different times."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        command = [sys.executable, "-m", "tests.bench.samples_site", name]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as site:
            assert site.stdin is not None
            assert site.stdout is not None
            url, at = site.stdout.readline().split()
            begin = datetime.fromisoformat(at) - timedelta(hours=1)

            asyncio.run(_round(url, begin, told=True, over_s=0.0))
            with IdleLoop() as idle:
                _stall, before_s = _look(site.stdin, site.stdout)
                stalls, machine = [], []
                for number in range(1, GOVERNOR_ROUNDS + 1):
                    now = begin + timedelta(seconds=number * PERIOD_S)
                    asyncio.run(_round(url, now, told=False, over_s=PERIOD_S))
                    stall_s, cpu_s = _look(site.stdin, site.stdout)
                    stalls.append(stall_s)
                    machine.append(idle.take())
            site.stdin.close()
    share = 100 * (cpu_s - before_s) / (GOVERNOR_ROUNDS * PERIOD_S)
    what = f"a governor that takes {NODES * DEVICES:,} devices every {PERIOD_S} s"
    yield Row(
        f"{what}: share of a core", f"{share:.0f} %", f"limit {SHARE:.0f} %", f"{share / SHARE:.2f}"
    )
    yield Row(
        f"{what}: longest stall of its loop, beside an idle loop's",
        f"{1000 * max(stalls):.0f} ms",
        f"limit {BATCH_MS:g} ms; idle {1000 * max(machine):.0f} ms",
        f"{1000 * max(stalls) / BATCH_MS:.2f}",
    )


def _look(asked: IO[str], told: IO[str]) -> tuple[float, float]:
    """Ask the governor for its longest stall since the last time, and for its CPU so far."""
    asked.write("\n")
    asked.flush()
    stall, cpu = told.readline().split()
    return float(stall), float(cpu)


async def _round(url: str, at: datetime, *, told: bool, over_s: float) -> None:
    """Post one batch of every machine, spread over so many seconds."""
    client = AsyncHTTPClient(force_instance=True, max_clients=20)
    loop, began = asyncio.get_running_loop(), asyncio.get_running_loop().time()
    posts = []
    for node in range(NODES):
        batch = _batch(node, at, told=told)
        rest_s = began + over_s * node / NODES - loop.time()
        await asyncio.sleep(max(0.0, rest_s))
        posts.append(asyncio.ensure_future(_post(client, url, batch)))
        if told:
            await posts[-1]
    await asyncio.gather(*posts)
    client.close()


async def _post(client: AsyncHTTPClient, url: str, batch: SampleBatch) -> None:
    answer = await client.fetch(
        f"{url}/services/gpu-commons/api/v1/samples",
        method="POST",
        body=batch.model_dump_json(),
        headers={"Authorization": f"token {TOKEN}", "Content-Type": "application/json"},
    )
    assert len(WatchList.model_validate_json(answer.body).leases) >= DEVICES
