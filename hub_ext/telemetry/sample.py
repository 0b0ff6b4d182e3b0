"""What every reader of GPUs gives, and how a figure that is not there is said.

A figure is a number or None with a reason; 0 means that somebody measured 0.
"""

from datetime import datetime
from typing import Literal, Protocol

from ..lease import DeviceHealth, DeviceId, DeviceSample, Inventory, Value, WatchList


class DeviceProcess(Value):
    """A process that computes on a device, by the number that this machine knows it by."""

    device: DeviceId
    pid: int
    memory_bytes: int | None


class Reading(Value):
    """What one node's devices are, and one sample of each that has a new one."""

    inventory: Inventory
    devices: tuple[DeviceSample, ...] = ()
    health: tuple[DeviceHealth, ...] = ()
    processes: tuple[DeviceProcess, ...] | None = None
    """Processes on the devices; None where they could not be listed on any."""


class Reader(Protocol):
    """A source of figures about one node's devices."""

    @property
    def source(self) -> Literal["nvml", "simulated", "prometheus"]:
        """Where the figures come from; it stands beside every one of them."""

    @property
    def floor_s(self) -> float:
        """Shortest period, in seconds, that does not disturb what is measured."""

    def read(self, watch: WatchList, now: datetime) -> tuple[Reading, ...]:
        """Give what is new, one reading a node; nothing before anything is known.

        Never blocks and never raises: what fails is absent, with a reason.
        """

    def close(self) -> None:
        """Let go of driver and processes."""


def absent_sample(device: DeviceId, at: datetime, reason: str) -> DeviceSample:
    """Make a sample that says that nothing is known."""
    return DeviceSample(
        device=device,
        at=at,
        util_percent=None,
        memory_used_bytes=None,
        memory_total_bytes=None,
        absent=reason,
    )


def made(fields: dict[str, object]) -> DeviceSample:
    """Make a sample of figures that were looked over already, without looking again.

    Every field must be there. pydantic's own way of doing that costs more than looking; whoever
    takes a reading from another process looks at all of it.
    """
    sample = DeviceSample.__new__(DeviceSample)
    for name, value in (
        ("__dict__", fields),
        ("__pydantic_fields_set__", set(fields)),
        ("__pydantic_extra__", None),
        ("__pydantic_private__", None),
    ):
        object.__setattr__(sample, name, value)
    return sample
