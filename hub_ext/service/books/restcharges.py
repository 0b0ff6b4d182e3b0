"""What is charged for devices that are kept empty beside a lease that is alone: a line of its own.

The lease's own line is for what it uses; both together are for all that nobody else could have.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from ...lease import Device, LeaseId, OpenLease
from ...lease.reserving import REST
from ...metering import standing_at
from ...mig.geometry import device_units
from ...policy.model import Policy
from ...policy.prices import PriceSpan, price_spans, tier_of

_REST = "-rest"


def own_part(lease: OpenLease) -> OpenLease:
    """Give a lease with the units of its own devices alone."""
    if lease.alone is None or not lease.rest:
        return lease
    return lease.model_copy(update={"units": _units(lease.devices)})


def rest_id(lease_id: LeaseId) -> LeaseId:
    """Name the lines for what is kept empty beside a lease."""
    return LeaseId(f"{lease_id}{_REST}")


def lease_of(line_id: LeaseId) -> LeaseId:
    """Name the lease that such lines belong to; a lease's own are named as it is.

    A correction is called after the line that it corrects, see `correcting`.
    """
    return LeaseId(line_id.partition("~")[0].removesuffix(_REST))


def rest_part(lease: OpenLease) -> OpenLease | None:
    """Stand for what is kept empty beside a lease; None where that is nothing."""
    if lease.alone is None or not lease.rest:
        return None
    changes = {
        "id": rest_id(lease.id),
        "flavor": REST[lease.alone],
        "units": _units(lease.rest),
    }
    return lease.model_copy(update=changes)


def lease_spans(
    policy: Policy | None, lease: OpenLease, start: datetime, end: datetime
) -> tuple[PriceSpan, ...]:
    """Prices of a lease, or of what is kept empty beside one, over a stretch of time.

    The dated prices of the policy in force, each for how the lease stood. Where that no longer has
    the pool, or prices in another currency, it is the price that was agreed at the start: a rule
    that is gone makes nothing free, and nothing is converted.
    """
    edges = [start, *(one.until for one in lease.stood if start < one.until < end), end]
    return tuple(
        span
        for first, last in pairwise(edges)
        for span in _spans(policy, lease, first, last)
        if first < last
    )


def _spans(
    policy: Policy | None, lease: OpenLease, start: datetime, end: datetime
) -> tuple[PriceSpan, ...]:
    """Prices over a stretch in which the lease stood in one way."""
    if policy is not None and lease.currency not in {"", policy.currency}:
        policy = None
    if policy is not None and lease.pool in policy.pools and lease.flavor in REST.values():
        return rest_spans(policy, lease, start, end)
    if policy is not None and (lease.pool is None or lease.pool in policy.pools):
        tier = tier_of(standing_at(lease, start))
        return price_spans(policy, lease.pool, lease.flavor, start, end, tier)
    return (PriceSpan(start, end, lease.price_micro_per_hour),)


def rest_spans(
    policy: Policy, lease: OpenLease, start: datetime, end: datetime
) -> tuple[PriceSpan, ...]:
    """Prices of all that is kept empty together; none where one of its devices has none."""
    profiles = Counter(device.part for device in lease.rest)
    tier = tier_of(standing_at(lease, start))
    priced: list[tuple[int, tuple[PriceSpan, ...]]] = []
    for profile, count in profiles.items():
        flavor = f"gpu-{count}" if profile is None else profile
        times = 1 if profile is None else count
        priced.append((times, price_spans(policy, lease.pool, flavor, start, end, tier)))
    return summed(priced)


def summed(
    priced: Sequence[tuple[int, tuple[PriceSpan, ...]]], *, missing: int | None = None
) -> tuple[PriceSpan, ...]:
    """Add several tilings of the same time, each so many times.

    `missing` stands for a price that there is not; None: then there is none for all of it.
    """
    edges = sorted({edge for _n, spans in priced for span in spans for edge in span[:2]})
    return tuple(
        PriceSpan(first, last, _sum([(n, _price_at(spans, first)) for n, spans in priced], missing))
        for first, last in pairwise(edges)
    )


def _price_at(spans: Iterable[PriceSpan], at: datetime) -> int | None:
    found = (span.price_micro_per_hour for span in spans if span.start <= at < span.end)
    return next(found, None)


def _sum(prices: Iterable[tuple[int, int | None]], missing: int | None) -> int | None:
    total = 0
    for times, price in prices:
        one = missing if price is None else price
        if one is None:
            return None
        total += times * one
    return total


def _units(devices: Iterable[Device]) -> int:
    return sum(device_units(device) for device in devices)
