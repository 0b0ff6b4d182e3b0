"""What lies where on each GPU: instances in use, free and out of service, and holes."""

from typing import Literal

from pydantic import AwareDatetime

from .words import DeviceId, LeaseId, PoolName, ShortText, Value

PartState = Literal["held", "free", "out", "hole"]
"""A lease has it; it can be handed out; it cannot; nothing was made there."""


class Part(Value):
    """A stretch of one GPU, in units of its axis."""

    start: int
    size: int
    state: PartState
    kind: str | None = None
    """MIG profile or time-share; None for a hole, and for a whole GPU."""
    device: DeviceId | None = None
    lease_id: LeaseId | None = None


class GpuMap(Value):
    """One GPU from end to end."""

    node: ShortText
    gpu: int
    axis: int
    """Length of the placement axis; 1 for a model that cannot be cut, n for n time-shares."""
    cut: bool
    """Whether it is cut into MIG devices or had in turns."""
    parts: tuple[Part, ...]
    largest: str | None = None
    """Largest flavor that is free on it now: `gpu`, a MIG profile, or a time-share."""
    recut: str | None = None
    """Largest MIG profile that would fit if an administrator cut anew what no lease has."""


class PoolMap(Value):
    """One pool: its GPUs, what is asked of it, and how much of what is free that cannot use."""

    pool: PoolName
    model: str
    fragmentation_percent: int | None
    """None where nothing is free, or nothing is asked for."""
    asked: dict[str, int]
    """Requests by flavor, open and waiting; each that is offered counts once more."""
    gpus: tuple[GpuMap, ...]


class CapacitySheet(Value):
    """`GET capacity`: every GPU of the pools."""

    at: AwareDatetime
    pools: tuple[PoolMap, ...]
    drift: tuple[str, ...] = ()
