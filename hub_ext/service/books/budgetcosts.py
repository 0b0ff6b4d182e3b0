"""What one open lease, or a reservation that keeps GPUs, costs until its end, and who pays.

It reckons; nothing is kept or decided here.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from ...budget import Spending, Tile, tiles
from ...lease import LeaseState, OpenLease
from ...lease.reserving import Reservation
from ...policy.catalogue import lifetime_of
from ...policy.model import Policy
from ...policy.prices import unused_spans
from ...units import instant_us
from .restcharges import lease_spans, own_part, rest_part

_BEYOND = timedelta(days=1)
"""Prices are looked up for so much longer, for a server that outlives its end."""


def spending_of(policy: Policy, lease: OpenLease, now: datetime) -> Spending:
    """What an open lease costs from what is on the books until its end.

    What is held for somebody costs as if it started now. A server that stops costs its team
    until the limit for that at most.
    """
    start = lease.charged_until or lease.assigned_at or now
    end = max(start, _end(policy, lease, now))
    until = end + _BEYOND
    parts = [own_part(lease), *([] if (rest := rest_part(lease)) is None else [rest])]
    priced = tuple(
        tile for part in parts for tile in tiles(lease_spans(policy, part, start, until))
    )
    last = _paid_until(policy, lease)
    return Spending(
        team=lease.team,
        project=lease.project,
        user=lease.key.user,
        start_us=instant_us(start),
        end_us=instant_us(end),
        tiles=_paid(lease, priced, None if last is None else instant_us(last)),
        units=lease.units,
    )


def _end(policy: Policy, lease: OpenLease, now: datetime) -> datetime:
    paid = _paid_until(policy, lease)
    if paid is not None:
        return paid
    return lease.ends_at or now + lifetime_of(
        policy, lease.team, lease.profile, lease.choice.lifetime_s, lease.task_type
    )


def _paid_until(policy: Policy, lease: OpenLease) -> datetime | None:
    """When its team stops paying for a server that does not stop."""
    if lease.state is not LeaseState.stopping or lease.stop_asked_at is None:
        return None
    return lease.stop_asked_at + policy.notice.stop_limit


def _paid(lease: OpenLease, priced: Iterable[Tile], last_us: int | None) -> tuple[Tile, ...]:
    """Leave out what its team does not pay: faults of a device, a stop that takes too long."""
    found = tuple(priced)
    gaps = [
        (instant_us(one.start), None if one.end is None else instant_us(one.end))
        for one in lease.waived
    ]
    if last_us is not None:
        gaps.append((last_us, None))
    for start, end in gaps:
        found = tuple(part for tile in found for part in _around(tile, start, end))
    return found


def _around(tile: Tile, start: int, end: int | None) -> Iterator[Tile]:
    if tile.start_us < start:
        yield tile._replace(end_us=min(tile.end_us, start))
    if end is not None and end < tile.end_us:
        yield tile._replace(start_us=max(tile.start_us, end))


def unused_of(policy: Policy, one: Reservation) -> Spending | None:
    """What a reservation costs until its end while no server uses it."""
    current = one.current
    if current is None or current.kept_since is None or one.pool not in policy.pools:
        return None
    spans = unused_spans(
        policy, one.pool, one.flavor, current.kept_since, current.end, one.unused_percent
    )
    return Spending(
        team=one.team,
        project=one.project,
        user=one.key.user,
        start_us=instant_us(current.kept_since),
        end_us=instant_us(current.end),
        tiles=tiles(spans),
        units=one.units,
    )
