"""What an agent found and read on one node. Unknown is None, never 0."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .asking import Device, ProcessRef
from .words import DeviceId, LeaseId, ShortText, Value


class Inventory(Value):
    """All devices that one agent found on one node, and where it read them."""

    node: ShortText
    source: Literal["nvml", "simulated"]
    at: AwareDatetime
    devices: tuple[Device, ...]
    problem: str = ""
    """Why devices or figures are missing, in words for the admin."""


class DeviceSample(Value):
    """One reading of one device; a figure that the driver does not offer is None, never 0."""

    device: DeviceId
    at: AwareDatetime
    util_percent: Annotated[int, Field(ge=0, le=100)] | None
    memory_used_bytes: Annotated[int, Field(ge=0)] | None
    memory_total_bytes: Annotated[int, Field(ge=0)] | None
    absent: str = ""


class ProcessSample(Value):
    """CPU of all processes of one lease over the last period, in thousandths of a core."""

    lease_id: LeaseId
    at: AwareDatetime
    cpu_millis: Annotated[int, Field(ge=0)] | None
    processes: Annotated[int, Field(ge=0)] | None
    absent: str = ""


class FaultSign(Value):
    """One sign that a GPU is at fault.

    `code` is the number of uncorrected memory errors, the Xid, or NVML's recovery action. `since`
    is the newest look at which it was not there yet, or the first look of all.
    """

    kind: Literal["ecc", "xid", "recovery"]
    code: Annotated[int, Field(ge=0)]
    since: AwareDatetime


class DeviceHealth(Value):
    """What speaks against one device; a device that has no entry could not be looked at."""

    device: DeviceId
    signs: tuple[FaultSign, ...] = ()


class SampleBatch(Value):
    """`POST samples`: what one agent read in one period."""

    node: ShortText
    source: Literal["nvml", "simulated"]
    sent_at: AwareDatetime
    period_s: Annotated[float, Field(gt=0, le=3600)]
    inventory: Inventory | None = None
    devices: tuple[DeviceSample, ...] = ()
    processes: tuple[ProcessSample, ...] = ()
    health: tuple[DeviceHealth, ...] = ()


class WatchItem(Value):
    """One lease that an agent should watch; the answer to its batch lists all of its node."""

    lease_id: LeaseId
    devices: tuple[DeviceId, ...]
    process: ProcessRef | None


class WatchList(Value):
    """Answer to `POST samples`."""

    leases: tuple[WatchItem, ...]
    inventory_wanted: bool = False
    """The governor does not know this node's devices; send them with the next batch."""
