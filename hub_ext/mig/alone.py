"""Devices for a request that shares its GPU or machine with nobody: they, and all beside them.

Works on devices and on what leases hold; knows nothing of quota, people or time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from ..lease import Device, DeviceId
from .geometry import device_units
from .placement import pick

Alone = Literal["gpu", "node"]


class Whole(NamedTuple):
    """What such a request takes: `devices` for itself, `rest` is kept empty beside them."""

    devices: tuple[Device, ...]
    rest: tuple[Device, ...]


def pick_alone(
    devices: Sequence[Device],
    taken: Iterable[Device],
    alone: Alone,
    *,
    gpus: int,
    mig_profile: str | None,
    most_units: int | None = None,
) -> Whole | None:
    """Choose a whole GPU or machine of which nothing is taken; None where there is none now.

    The smallest that serves comes first, then by machine and GPU. Whole GPUs are alone already,
    so `gpu` asks nothing more of them.

    Parameters
    ----------
    devices
        Usable devices of the pool.
    taken
        Devices that leases have, of any pool and in service or not.
    most_units
        What is larger is not chosen: the quota counts the whole, and was asked for so much.
    """
    place = _place(alone)
    busy = {place(one) for one in taken}
    groups: dict[tuple[str, int], list[Device]] = defaultdict(list)
    for one in devices:
        groups[place(one)].append(one)
    if alone == "gpu" and gpus:
        held = frozenset(one.id for one in devices if place(one) in busy)
        found = pick(devices, held, gpus=gpus, mig_profile=None)
        return None if found is None else Whole(found, ())
    sizes = {spot: sum(device_units(one) for one in group) for spot, group in groups.items()}
    for spot in sorted(groups, key=lambda spot: (sizes[spot], spot)):
        if spot in busy or (most_units is not None and sizes[spot] > most_units):
            continue
        found = pick(groups[spot], frozenset(), gpus=gpus, mig_profile=mig_profile)
        if found is not None:
            return Whole(found, tuple(one for one in groups[spot] if one not in found))
    return None


def beside(devices: Iterable[Device], held: Iterable[Device], alone: Alone) -> frozenset[DeviceId]:
    """Name the devices that share a GPU or machine with what a lease has alone.

    One of them may have come into service after the lease began.
    """
    place = _place(alone)
    there = {place(one) for one in held}
    return frozenset(one.id for one in devices if place(one) in there)


def _place(alone: Alone) -> Callable[[Device], tuple[str, int]]:
    if alone == "node":
        return lambda one: (one.node, -1)
    return lambda one: (one.node, one.gpu)
