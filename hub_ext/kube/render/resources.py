"""Names under which nodes offer a pool's devices, and what each is worth in units."""

from collections import defaultdict
from collections.abc import Mapping

from ...mig.geometry import SHARE
from ...policy.capacity import WHOLE, Capacity, capacity
from ...policy.model import Policy, Pool

__all__ = ["GPU", "SHARED", "name_of", "offered", "uneven", "worth"]

GPU = "nvidia.com/gpu"
"""A whole GPU."""

SHARED = "nvidia.com/gpu.shared"
"""A time-share, as the device plugin calls it where it is told to rename."""


def name_of(kind: str, pool: Pool) -> str:
    """Name a kind of device as the device plugin does (strategy `mixed`)."""
    if kind == WHOLE:
        return GPU
    if kind.startswith(SHARE):
        return pool.shared_resource or SHARED
    return f"nvidia.com/mig-{kind.replace('+', '.')}"


def offered(policy: Policy) -> Mapping[str, Mapping[str, int]]:
    """Units of one device by resource name and pool."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for pool, rules in policy.pools.items():
        for kind, units in _kinds(capacity(rules)).items():
            name = name_of(kind, rules)
            found[name][pool] = max(units, found[name].get(pool, 0))
    return dict(sorted(found.items()))


def _kinds(declared: Capacity) -> Mapping[str, int]:
    return {kind: declared.units_each[kind] for kind in declared.counts}


def worth(policy: Policy) -> Mapping[str, int]:
    """Units that a batch job is counted for one device of each name.

    Kueue knows one figure for a name, whatever the pool. Where pools differ it is the highest, so
    that jobs never hold more than is counted.
    """
    return {name: max(pools.values()) for name, pools in offered(policy).items()}


def uneven(policy: Policy) -> Mapping[str, Mapping[str, int]]:
    """Names whose devices are worth more in one pool than in another."""
    return {name: pools for name, pools in offered(policy).items() if len(set(pools.values())) > 1}
