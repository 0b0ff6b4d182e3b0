"""How much of a pool's free GPUs is of no use to what is asked for: fragmentation as one figure.

After Weng et al., "Beware of Fragmentation", USENIX ATC 2023: what a typical request cannot use.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ..lease import Device
from ..units import UNITS_PER_GPU
from .geometry import device_units


def fragmentation(free: Sequence[Device], asked: Mapping[str, int]) -> Fraction | None:
    """Share of the free memory that a request of the mix cannot use, on average; 0 to 1.

    A MIG profile uses the free instances of its own; whole GPUs are used by as many at once as a
    request wants, on one machine.

    Parameters
    ----------
    free
        Devices of one pool that could be handed out now.
    asked
        Number of requests by flavor: `gpu-2`, `1g.18gb`.

    Returns
    -------
    None where nothing is free, or nothing is asked for.
    """
    requests = sum(asked.values())
    there = sum(device_units(device) for device in free)
    if not requests or not there:
        return None
    whole = Counter(device.node for device in free if device.part is None)
    instances: Counter[str] = Counter()
    for device in free:
        if device.part is not None:
            instances[device.part] += device_units(device)
    usable = sum(
        count * (_whole_units(whole, flavor) if flavor.startswith("gpu-") else instances[flavor])
        for flavor, count in asked.items()
    )
    return 1 - Fraction(usable, requests * there)


def _whole_units(free_by_node: Mapping[str, int], flavor: str) -> int:
    gpus = int(flavor.removeprefix("gpu-"))
    return UNITS_PER_GPU * sum(count // gpus * gpus for count in free_by_node.values())
