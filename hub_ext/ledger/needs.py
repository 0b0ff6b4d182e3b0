"""How much GPU a lease needed at most, from hourly sums: memory, and the busiest hour."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

from ..lease import LeaseId

_HOUR_MS = 3_600_000
_LEAST_MS = 300_000
"""An hour of which less was read says nothing of how busy it was."""


class Need(NamedTuple):
    """What one lease needed.

    `memory_bytes` is the sum of its devices' peaks, None where one never told; `busy_percent` the
    sum over its devices in the busiest hour, so 200 for two that were busy all the time.
    """

    devices: int
    sampled_s: int
    memory_bytes: int | None
    busy_percent: int


def needs(rows: Collection[Any]) -> dict[LeaseId, Need]:
    """Sum rows of `rollup_hour` up by lease."""
    by_lease: dict[LeaseId, list[Any]] = defaultdict(list)
    for row in rows:
        by_lease[row.lease_id].append(row)
    return {lease_id: _need(mine) for lease_id, mine in by_lease.items()}


def _need(rows: list[Any]) -> Need:
    memory: dict[str, int | None] = {}
    busy: dict[int, int] = defaultdict(int)
    for row in rows:
        former = memory.get(row.device)
        told = [one for one in (former, row.peak_memory_bytes) if one is not None]
        memory[row.device] = max(told) if told else None
        if row.sampled_ms >= _LEAST_MS:
            busy[row.hour] += -(-row.percent_ms // row.sampled_ms)
    known = [one for one in memory.values() if one is not None]
    return Need(
        devices=len(memory),
        sampled_s=sum(min(row.sampled_ms, _HOUR_MS) for row in rows) // (1000 * len(memory)),
        memory_bytes=sum(known) if len(known) == len(memory) else None,
        # Without an hour that was read for long enough the highest reading counts.
        busy_percent=max(busy.values())
        if busy
        else sum(max(row.peak_percent for row in rows if row.device == one) for one in memory),
    )
