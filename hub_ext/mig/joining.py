"""Which whole GPUs of a node belong together: the closest joined set, and how it is joined.

Pure, and only a choice among devices that are free anyway: it never decides who is admitted.
"""

from collections.abc import Callable, Hashable, Sequence
from enum import IntEnum

from ..i18n import _
from ..lease import Device


class Join(IntEnum):
    """How the farthest two of a set are joined, the closest first."""

    nvlink = 0
    switch = 1
    bridge = 2
    socket = 3
    node = 4
    unknown = 5


_Key = Callable[[Device], Hashable]
_KEYS: tuple[tuple[Join, _Key], ...] = (
    (Join.nvlink, lambda one: None if one.wired is None else one.wired.nvlink),
    (Join.switch, lambda one: None if one.wired is None else one.wired.switch),
    (Join.bridge, lambda one: None if one.wired is None else one.wired.bridge),
    (Join.socket, lambda one: None if one.wired is None else one.wired.socket),
)


def closest(free: Sequence[Device], count: int) -> tuple[Join, tuple[Device, ...]]:
    """Choose so many of the free whole GPUs of one node, joined as closely as can be.

    Of the groups that are joined alike, the one with the fewest free that suffices, so that large
    sets stay whole; then by the GPU's index and the id.

    Parameters
    ----------
    free
        At least `count` devices.
    """
    ordered = sorted(free, key=lambda one: (one.gpu, one.id))
    if count == 1:
        # One alone is joined to nobody: it is taken from where it spoils the smallest set.
        return Join.nvlink, (min(ordered, key=lambda one: _spoils(one, ordered)),)
    for join, key in _KEYS:
        fitting = [group for group in _grouped(ordered, key) if len(group) >= count]
        if fitting:
            return join, tuple(min(fitting, key=_size)[:count])
    chosen = tuple(ordered[:count])
    return joined(chosen), chosen


def joined(devices: Sequence[Device]) -> Join:
    """How devices of one node are joined."""
    for join, key in _KEYS:
        keys = {key(one) for one in devices}
        if len(keys) == 1 and None not in keys:
            return join
    return Join.unknown if any(_untold(one, devices) for one in devices) else Join.node


def _untold(device: Device, others: Sequence[Device]) -> bool:
    """Whether nobody said how a device is joined to any of the others."""
    return device.wired is None or any(one.gpu in device.wired.untold for one in others)


def joined_words(devices: Sequence[Device]) -> str:
    """Say how the GPUs of a lease are joined; empty for one alone, or parts of one."""
    whole = [one for one in devices if one.part is None]
    if len(whole) < 2:  # noqa: PLR2004 - a pair
        return ""
    if len({one.node for one in whole}) > 1:
        return _("{n} GPUs of several machines").format(n=len(whole))
    words = {
        Join.nvlink: _("{n} GPUs, each joined to each by NVLink"),
        Join.switch: _("{n} GPUs behind one PCIe switch"),
        Join.bridge: _("{n} GPUs behind one PCIe host bridge"),
        Join.socket: _("{n} GPUs of one processor socket"),
        Join.node: _("{n} GPUs across processor sockets"),
        Join.unknown: _("{n} GPUs; how they are joined is not known"),
    }
    return words[joined(whole)].format(n=len(whole))


def _grouped(ordered: Sequence[Device], key: _Key) -> list[list[Device]]:
    groups: dict[Hashable, list[Device]] = {}
    for one in ordered:
        if key(one) is not None:
            groups.setdefault(key(one), []).append(one)
    return list(groups.values())


def _spoils(device: Device, free: Sequence[Device]) -> tuple[int, ...]:
    """How many free ones are joined to a device, by each way, the closest first."""
    if device.wired is None:
        return (0, 0, device.gpu)
    sizes = (
        0 if key(device) is None else sum(1 for one in free if key(one) == key(device))
        for _join, key in _KEYS[:2]
    )
    return (*sizes, device.gpu)


def _size(group: list[Device]) -> tuple[int, int]:
    return len(group), group[0].gpu
