"""Tables of the readings, and the sums over them: how one batch goes in and how use comes out.

Hourly sums grow by each reading that is new, so neither order nor repetition of batches matters.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    MetaData,
    Table,
    Text,
    case,
    delete,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.sqlite import insert

from ..lease import DeviceId, DeviceSample, LeaseId, SampleBatch
from ..metering import QUIET_PERCENT, Quiet, Use
from ..units import instant_us
from .schema import Whole

RAW_KEPT = timedelta(hours=24)
"""How long single readings are kept."""

ROLLUPS_KEPT = timedelta(days=760)
"""How long hourly sums are kept: 25 months."""

AHEAD = timedelta(seconds=2)
"""A reading that claims to come from later than this after now is dropped: a wrong clock.

Kept, it would pass for a fresh one when its time comes, and so old quiet would stop a busy server.
"""

PRUNED_AT_ONCE = 500
"""Most rows that are taken from a table with one batch: at a large site ten minutes of readings are
hundreds of thousands, and decisions wait in the same thread."""

HOUR_US = 3_600_000_000
"""Microseconds of an hour."""

_HOUR_MS = 3_600_000

metadata = MetaData()

sample = Table(
    "sample",
    metadata,
    Column("device", Text, primary_key=True),
    Column("at", Whole, primary_key=True, autoincrement=False),
    Column("util_percent", Whole),
    Column("memory_used_bytes", Whole),
    Column("memory_total_bytes", Whole),
    Column("absent", Text, nullable=False),
    Column("sm_percent", Whole),
    Column("dram_percent", Whole),
    Column("pcie_kib_s", Whole),
    Column("power_mw", Whole),
    Column("processes", Whole),
    Column("process_changes", Whole),
    Index("ix_sample_at", "at"),
)

process_sample = Table(
    "process_sample",
    metadata,
    Column("lease_id", Text, primary_key=True),
    Column("at", Whole, primary_key=True, autoincrement=False),
    Column("cpu_millis", Whole),
    Column("processes", Whole),
    Column("absent", Text, nullable=False),
    Column("scope", Text, nullable=False, server_default="process"),
    Column("disk_bytes_s", Whole),
    Column("net_bytes_s", Whole),
    Column("memory_bytes", Whole),
    Column("cpu_stalled_percent", Whole),
    Column("disk_stalled_percent", Whole),
    Column("memory_limit_bytes", Whole),
    Column("memory_full", Whole),
    Column("memory_stalled_percent", Whole),
    Column("stalled_absent", Text, nullable=False, server_default=""),
    Index("ix_process_sample_at", "at"),
)

rollup_hour = Table(
    "rollup_hour",
    metadata,
    Column("lease_id", Text, primary_key=True),
    Column("device", Text, primary_key=True),
    Column("hour", Whole, primary_key=True, autoincrement=False),
    Column("sampled_ms", Whole, nullable=False),
    Column("percent_ms", Whole, nullable=False),
    Column("unknown_ms", Whole, nullable=False),
    Column("peak_percent", Whole, nullable=False),
    Column("idle_ms", Whole),
    Column("hoarded_ms", Whole),
    Column("peak_memory_bytes", Whole),
    Index("ix_rollup_hour_hour", "hour"),
)
"""`hour` is hours since 1970 UTC. Sums grow by each new reading, so no order of arrival matters.

Of `sampled_ms` no more than `QUIET_PERCENT` was computed for `idle_ms`, with memory empty or not
known, and for `hoarded_ms`, with memory held. None: read by a version that did not tell, and of
`peak_memory_bytes` also that the driver did not.
"""

Sums = dict[tuple[str, str, int], list[int]]
"""(lease, device, hour) -> its sampled_ms, percent_ms, unknown_ms, peak_percent, idle_ms,
hoarded_ms and peak_memory_bytes; the last is -1 where none was told."""


_GROWING = ("sampled_ms", "percent_ms", "unknown_ms", "peak_percent", "idle_ms", "hoarded_ms")
_UNTOLD = -1
"""Stands for a memory that no driver told, which is NULL in the table."""

_NEVER = 1 << 62

_PROCESSES = insert(process_sample).on_conflict_do_nothing()
_NEW = insert(rollup_hour)
_KNOWN, _MORE = rollup_hour.c, _NEW.excluded
_GROWN = _NEW.on_conflict_do_update(
    index_elements=["lease_id", "device", "hour"],
    set_={
        "sampled_ms": _KNOWN.sampled_ms + _MORE.sampled_ms,
        "percent_ms": _KNOWN.percent_ms + _MORE.percent_ms,
        "unknown_ms": _KNOWN.unknown_ms + _MORE.unknown_ms,
        "peak_percent": func.max(_KNOWN.peak_percent, _MORE.peak_percent),
        # None only where an older version read a part of the hour: known from then on.
        "idle_ms": func.coalesce(_KNOWN.idle_ms, 0) + _MORE.idle_ms,
        "hoarded_ms": func.coalesce(_KNOWN.hoarded_ms, 0) + _MORE.hoarded_ms,
        "peak_memory_bytes": func.nullif(
            func.max(
                func.coalesce(_KNOWN.peak_memory_bytes, _UNTOLD),
                func.coalesce(_MORE.peak_memory_bytes, _UNTOLD),
            ),
            _UNTOLD,
        ),
    },
)


class Taken(NamedTuple):
    """A batch, when it came, and which lease held each device then."""

    batch: SampleBatch
    now: datetime
    holders: Mapping[DeviceId, LeaseId]


def keep(connection: Connection, taken: Iterable[Taken], newest: dict[DeviceId, int]) -> None:
    """Add what is new in batches; what is there already, too old or from the future is left out.

    Parameters
    ----------
    newest
        Instant of the newest reading of each device that was written; grows. A later one is new
        without a look, and all that come in time are.
    """
    rows: list[dict[str, Any]] = []
    processes: dict[tuple[LeaseId, int], dict[str, Any]] = {}
    sums: Sums = defaultdict(lambda: [0, 0, 0, 0, 0, 0, _UNTOLD])
    for batch, now, holders in taken:
        first, last = instant_us(now - RAW_KEPT), instant_us(now + AHEAD)
        every = {
            (one.device, at): one
            for one in batch.devices
            if first <= (at := instant_us(one.at)) <= last
        }
        doubtful = [key for key in every if key[1] <= newest.get(key[0], _NEVER)]
        if doubtful and rows:
            # What this very group has brought is there as well.
            connection.execute(insert(sample), rows)
            rows = []
        for key in _there(connection, doubtful):
            every.pop(key, None)
        for (device, at), one in every.items():
            rows.append(vars(one) | {"at": at})
            newest[device] = max(at, newest.get(device, at))
        _add(sums, every.values(), round(batch.period_s * 1000), holders)
        for process in batch.processes:
            at = instant_us(process.at)
            if first <= at <= last:
                processes[process.lease_id, at] = vars(process) | {"at": at}
    if rows:
        connection.execute(insert(sample), rows)
    if processes:
        connection.execute(_PROCESSES, list(processes.values()))
    if sums:
        _grow(connection, sums)


def _there(
    connection: Connection, kept: Collection[tuple[DeviceId, int]]
) -> set[tuple[DeviceId, int]]:
    if not kept:
        return set()
    query = select(sample.c.device, sample.c.at).where(
        sample.c.device.in_({device for device, _at in kept}),
        sample.c.at >= min(at for _device, at in kept),
    )
    return {(DeviceId(row.device), row.at) for row in connection.execute(query)}


def _add(
    sums: Sums, fresh: Iterable[DeviceSample], period_ms: int, holders: Mapping[DeviceId, LeaseId]
) -> None:
    for one in fresh:
        lease_id = holders.get(one.device)
        if lease_id is None:
            continue
        total = sums[lease_id, one.device, instant_us(one.at) // HOUR_US]
        if one.memory_used_bytes is not None:
            total[6] = max(total[6], one.memory_used_bytes)
        if one.util_percent is None:
            total[2] += period_ms
        else:
            total[0] += period_ms
            total[1] += period_ms * one.util_percent
            total[3] = max(total[3], one.util_percent)
            if one.util_percent < QUIET_PERCENT:
                total[5 if _holds_memory(one) else 4] += period_ms


def _holds_memory(one: DeviceSample) -> bool:
    used, whole = one.memory_used_bytes, one.memory_total_bytes
    return used is not None and whole is not None and used * 100 >= QUIET_PERCENT * whole


def _grow(connection: Connection, sums: Sums) -> None:
    grown = [
        dict(zip(_GROWING, figures, strict=True))
        | {"lease_id": lease_id, "device": device, "hour": hour}
        | {"peak_memory_bytes": None if memory == _UNTOLD else memory}
        for (lease_id, device, hour), (*figures, memory) in sums.items()
    ]
    connection.execute(_GROWN, grown)


def prune(connection: Connection, now: datetime, *, most: int = PRUNED_AT_ONCE) -> bool:
    """Take away what is too old, so many rows a table; return whether some may be left."""
    oldest = instant_us(now - RAW_KEPT)
    hour = instant_us(now - ROLLUPS_KEPT) // HOUR_US
    left = False
    for table, age, first in (
        (sample, sample.c.at, oldest),
        (process_sample, process_sample.c.at, oldest),
        (rollup_hour, rollup_hour.c.hour, hour),
    ):
        rowid = literal_column("rowid", Whole)
        rows = select(rowid).select_from(table).where(age < first).limit(most)
        gone = connection.execute(delete(table).where(rowid.in_(rows)))
        left = left or gone.rowcount >= most
    return left


def quiets(connection: Connection, first: int, last: int) -> dict[LeaseId, Quiet]:
    """Sum by lease how long its GPUs did nothing in the hours [first, last)."""
    of = rollup_hour.c
    # As in `_use`: an hour has no more than an hour, and parts of it shrink alike.
    hour_ms = func.min(of.sampled_ms, _HOUR_MS)

    def told(column: Column[Any]) -> ColumnElement[Any]:
        part = column * hour_ms / func.max(of.sampled_ms, 1)
        return func.coalesce(func.sum(case((of.idle_ms.is_not(None), part))), 0)

    query = (
        select(
            of.lease_id,
            func.count(of.device.distinct()).label("devices"),
            told(of.sampled_ms).label("sampled"),
            told(of.idle_ms).label("idle"),
            told(of.hoarded_ms).label("hoarded"),
            func.max(of.peak_percent).label("peak"),
        )
        .where(of.hour >= first, of.hour < last)
        .group_by(of.lease_id)
    )
    return {
        LeaseId(row.lease_id): Quiet(
            devices=row.devices,
            sampled_s=int(row.sampled) // 1000,
            idle_s=int(row.idle) // 1000,
            hoarded_s=int(row.hoarded) // 1000,
            peak_percent=row.peak,
        )
        for row in connection.execute(query)
    }


def uses(rows: Collection[Any]) -> dict[LeaseId, Use]:
    """Sum rows of `rollup_hour` by lease; of several devices the mean."""
    by_lease: dict[LeaseId, list[Any]] = defaultdict(list)
    for row in rows:
        by_lease[row.lease_id].append(row)
    return {lease_id: _use(lease_id, mine) for lease_id, mine in by_lease.items()}


def _use(lease_id: LeaseId, rows: list[Any]) -> Use:
    devices = len({row.device for row in rows})
    return Use(
        lease_id=lease_id,
        # An agent that restarts may cover a second twice; an hour has no more than an hour.
        sampled_s=sum(min(row.sampled_ms, _HOUR_MS) for row in rows) // (1000 * devices),
        percent_seconds=sum(
            row.percent_ms * min(row.sampled_ms, _HOUR_MS) // max(row.sampled_ms, 1) for row in rows
        )
        // (1000 * devices),
        peak_percent=max(row.peak_percent for row in rows),
    )
