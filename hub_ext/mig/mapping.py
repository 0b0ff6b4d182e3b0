"""Draws up each GPU from end to end: what is in use, free, out of service, or a hole."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from ..lease import Device, DeviceId, GpuMap, LeaseId, Part, PartState
from .geometry import Placement, device_units, geometry
from .layouts import WHOLE, holes, largest, ordered

_State = Callable[[Device], PartState]


def gpu_maps(
    devices: Iterable[Device],
    *,
    held: Mapping[DeviceId, LeaseId],
    serving: Collection[DeviceId],
) -> tuple[GpuMap, ...]:
    """Draw up the GPUs of one pool, by machine and index.

    Parameters
    ----------
    devices
        All that are there or held.
    held
        Devices that a lease has.
    serving
        Devices that may be handed out.
    """
    known = {device.id: device for device in devices}
    there = sorted(known.values(), key=lambda one: (one.node, one.gpu, one.start or 0, one.id))

    def state(device: Device) -> PartState:
        if device.id in held:
            return "held"
        return "free" if device.id in serving else "out"

    return tuple(
        _gpu_map(list(group), state, held)
        for _spot, group in groupby(there, key=lambda one: (one.node, one.gpu))
    )


def _gpu_map(group: Sequence[Device], state: _State, held: Mapping[DeviceId, LeaseId]) -> GpuMap:
    first = group[0]
    shape = geometry(first.model)
    axis = first.shared_by or (1 if shape is None else shape.axis)
    parts = [
        Part(
            start=at,
            size=size,
            state=state(device),
            kind=device.part,
            device=device.id,
            lease_id=held.get(device.id),
        )
        for device, (at, size) in zip(group, _spans(group, axis), strict=True)
    ]
    placed = [Placement(one.kind or "", one.start, one.size) for one in parts]
    parts += [Part(start=at, size=size, state="hole") for at, size in holes(axis, placed)]
    free = [device for device in group if state(device) == "free"]
    best = max(free, key=device_units, default=None)
    return GpuMap(
        node=first.node,
        gpu=first.gpu,
        axis=axis,
        cut=first.part is not None,
        parts=tuple(sorted(parts, key=lambda one: one.start)),
        largest=None if best is None else best.part or WHOLE,
        recut=_recut(group, state) if first.mig_profile is not None else None,
    )


def _spans(group: Sequence[Device], axis: int) -> Iterator[tuple[int, int]]:
    """Start and size of each device; time-shares lie side by side, as nobody owns a stretch."""
    for number, device in enumerate(group):
        if device.shared_by is not None:
            yield number, 1
        else:
            yield device.start or 0, device.size or axis


def _recut(group: Sequence[Device], state: _State) -> str | None:
    """Look beside what a lease has or is out of service; the rest can be made anew."""
    fixed = ordered(_fixed(group, state))
    return largest(group[0].model, fixed)


def _fixed(group: Sequence[Device], state: _State) -> Iterator[Placement]:
    for device in group:
        if state(device) != "free":
            yield Placement(device.mig_profile or "", device.start or 0, device.size or 0)
