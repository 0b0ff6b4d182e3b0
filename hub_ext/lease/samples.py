"""What an agent found and read on one node. Unknown is None, never 0."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from .asking import Device, ProcessRef
from .pods import DeviceHolding
from .words import DeviceId, LeaseId, ShortText, Value


class Inventory(Value):
    """All devices that one agent found on one node, and where it read them."""

    node: ShortText
    source: Literal["nvml", "simulated"]
    at: AwareDatetime
    devices: tuple[Device, ...]
    problem: str = ""
    """Why devices or figures are missing, in words for the admin."""


Percent = Annotated[int, Field(ge=0, le=100)]
Figure = Annotated[int, Field(ge=0)]


class DeviceSample(Value):
    """One reading of one device; a figure that the driver does not offer is None, never 0."""

    device: DeviceId
    at: AwareDatetime
    util_percent: Percent | None
    memory_used_bytes: Figure | None
    memory_total_bytes: Figure | None
    absent: str = ""
    """Why utilisation or memory is missing."""
    sm_percent: Percent | None = None
    """Share of the multiprocessors that computed; by GPM alone (Hopper and newer)."""
    dram_percent: Percent | None = None
    """Share of the memory's bandwidth; by GPM alone."""
    pcie_kib_s: Figure | None = None
    """KiB a second over PCIe, both ways; None for a MIG device."""
    power_mw: Figure | None = None
    """Mean power since the last reading, from the energy counter of the board; None with MIG."""
    processes: Figure | None = None
    """Processes that compute on it."""
    process_changes: Figure | None = None
    """Processes that came or went since the last reading; None at the first."""


class ProcessSample(Value):
    """What all processes of one lease did over the last period; unknown is None.

    `scope` says who counted: the lease's cgroup, or the sum over processes that carry its mark.
    """

    lease_id: LeaseId
    at: AwareDatetime
    cpu_millis: Figure | None
    """Thousandths of a core."""
    processes: Figure | None
    absent: str = ""
    scope: Literal["process", "cgroup"] = "process"
    disk_bytes_s: Figure | None = None
    """Bytes read and written a second, on block devices (cgroup) or by the processes."""
    net_bytes_s: Figure | None = None
    """Bytes in and out a second in the server's network namespace; None where it has none."""
    memory_bytes: Figure | None = None
    """Memory in use, without files that the kernel may drop; by its cgroup alone."""
    memory_limit_bytes: Figure | None = None
    """Most that it may use; None where nobody set a limit, or it cannot be read."""
    memory_full: Figure | None = None
    """How often in the period it was held back at a limit of its memory."""
    cpu_stalled_percent: Percent | None = None
    """Share of the period in which some of it waited for a CPU: throttled, or by pressure."""
    disk_stalled_percent: Percent | None = None
    """Share of the period in which some of it waited for a disk."""
    memory_stalled_percent: Percent | None = None
    """Share of the period in which some of it waited for memory."""
    stalled_absent: str = ""
    """Why it is not known how long it waited."""


class StrayProcess(Value):
    """A process on a device that belongs to no open lease of that device."""

    device: DeviceId
    pid: Annotated[int, Field(gt=0)]
    memory_bytes: Figure | None
    lease_id: LeaseId | None = None
    """The lease whose mark it carries, where it carries one."""


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


class ClockOffset(Value):
    """An agent's clock against the governor's, measured by the way there and back of batches."""

    offset_ms: int
    """Governor's clock minus the agent's, in milliseconds; negative where the agent's is ahead."""
    within_ms: Figure
    """How far off that may be: half of the time there and back."""


class SampleBatch(Value):
    """`POST samples`: what one agent read in one period."""

    node: ShortText
    source: Literal["nvml", "simulated", "prometheus"]
    sent_at: AwareDatetime
    period_s: Annotated[float, Field(gt=0, le=3600)]
    inventory: Inventory | None = None
    devices: tuple[DeviceSample, ...] = ()
    processes: tuple[ProcessSample, ...] = ()
    health: tuple[DeviceHealth, ...] = ()
    holdings: tuple[DeviceHolding, ...] | None = None
    """Who holds the node's devices, as its kubelet tells; None where there is no kubelet to ask, or
    it did not answer."""
    strays: tuple[StrayProcess, ...] | None = None
    """None where the processes on devices cannot be told apart from here."""
    late: bool = False
    """Read while the governor was away: it is kept, and says nothing of how things are now."""
    clock: ClockOffset | None = None
    """None before the governor's first answers."""
    refused: Figure = 0
    """Batches that the governor refused for good, and the agent set aside, in the last hour."""


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
    at: AwareDatetime | None = None
    """The governor's clock when it took the batch."""
