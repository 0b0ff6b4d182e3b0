"""What a site asks of a pool just now: the mix of requests that a placement keeps room for.

Only open leases and waiting requests count, so that it costs the same however long the history.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from ..mig.layouts import WHOLE, Mix, mix_of
from ..policy.model import Policy, flavor_name


def asked_for(policy: Policy, pool: str, flavors: Iterable[str]) -> Mapping[str, int]:
    """Count requests of a pool by flavor; each flavor that a profile offers counts once more.

    Parameters
    ----------
    flavors
        Those of the open leases and waiting requests there.
    """
    offered = (flavor_name(one.flavor) for one in policy.profiles.values() if one.pool == pool)
    asked = Counter(dict.fromkeys(offered, 1))
    asked.update(flavors)
    return asked


def placement_mix(asked: Mapping[str, int]) -> Mix:
    """Say how much each MIG profile counts in a placement, and a GPU that is left whole."""
    counts: Counter[str] = Counter()
    for flavor, count in asked.items():
        counts[WHOLE if flavor.startswith(f"{WHOLE}-") else flavor] += count
    return mix_of(counts)
