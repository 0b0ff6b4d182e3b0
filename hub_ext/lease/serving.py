"""Devices that are not handed out, and why: taken out of service, or drained."""

from typing import Literal

from pydantic import AwareDatetime

from .asking import Device
from .words import DeviceId, LeaseId, ShortText, Value

OutCause = Literal["faulty", "not-empty", "admin"]
"""Gone from its machine; memory held though no lease has it; an administrator's word."""

Place = Literal["pool", "node", "device"]


class Spot(Value):
    """What can be drained: a pool, a machine or a device, by its name."""

    place: Place
    name: ShortText


class Outage(Value):
    """A device out of service. A passed check brings it back, unless an administrator took it."""

    device: DeviceId
    cause: OutCause
    words: str
    at: AwareDatetime
    by: ShortText
    since: AwareDatetime | None = None
    """First sign of the fault; None where it is no fault."""
    signs: tuple[ShortText, ...] = ()
    """What the driver said; empty where the device is simply not there any more."""


class Drain(Value):
    """A pool, node or device that gets no new lease; leases there are told to end by `ends_at`."""

    place: Place
    name: ShortText
    ends_at: AwareDatetime
    at: AwareDatetime
    by: ShortText
    reason: str


class DeviceRow(Value):
    """One device as administrators see it."""

    device: Device
    lease_id: LeaseId | None
    outage: Outage | None
    drain: Drain | None


class DeviceSheet(Value):
    """`GET devices`: all that are found or held, and every drain."""

    at: AwareDatetime
    devices: tuple[DeviceRow, ...]
    outages: tuple[Outage, ...]
    drains: tuple[Drain, ...]
    drift: tuple[str, ...]
