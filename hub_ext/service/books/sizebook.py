"""Which leases of each person and project ended lately: what a hint on size is read from."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from ...lease import LeaseId, LeaseState, OpenLease

SPAN = timedelta(days=90)
"""What ended before says nothing of what is needed now."""

MOST_KEPT = 20
"""Of each person and project."""

MOST_PAIRS = 20_000
"""Persons and projects that are kept; those that were heard of first are let go."""


class Kept(NamedTuple):
    """One ended lease with a GPU."""

    lease_id: LeaseId
    units: int
    held_s: int
    ended_at: datetime


@dataclass
class SizeBook:
    """Ended leases by person and project, the newest last."""

    _kept: dict[tuple[str, str], deque[Kept]] = field(default_factory=dict)

    def wants(self, before: datetime, now: datetime) -> bool:
        """Whether what ended before an instant would be kept."""
        return before >= now - SPAN

    def take(self, seen: Iterable[OpenLease], *, newest: bool) -> None:
        """Keep leases that ran on a GPU; at the old end, or as the newest."""
        ordered = list(seen)
        for lease in ordered if newest else reversed(ordered):
            kept = _kept(lease)
            if kept is None or lease.project is None:
                continue
            mine = self._kept.setdefault((lease.key.user, lease.project), deque())
            if newest:
                mine.append(kept)
                if len(mine) > MOST_KEPT:
                    mine.popleft()
            elif len(mine) < MOST_KEPT:
                mine.appendleft(kept)
        while len(self._kept) > MOST_PAIRS:
            del self._kept[next(iter(self._kept))]

    def of(self, user: str, project: str, now: datetime) -> tuple[Kept, ...]:
        """Give those of a person and project that ended within the span."""
        mine = self._kept.get((user, project), ())
        return tuple(one for one in mine if one.ended_at >= now - SPAN)


def _kept(lease: OpenLease) -> Kept | None:
    if lease.state is not LeaseState.closed or lease.pool is None or lease.closed_at is None:
        return None
    # What it kept empty beside itself needed nothing.
    if lease.started_at is None or lease.assigned_at is None or lease.alone is not None:
        return None
    held_s = int((lease.closed_at - lease.assigned_at).total_seconds())
    return Kept(lease.id, lease.units, held_s, lease.closed_at)
