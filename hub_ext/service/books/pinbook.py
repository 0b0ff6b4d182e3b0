"""Which devices are kept for which project: held in memory, made of the ledger's own events."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...lease import Device, DeviceId, Event
from ...ledger.store import Ledger
from ...policy.model import Policy

PINNED = "device.pinned"


@dataclass
class DevicePins:
    """Devices of each project, as the events so far have it."""

    projects: dict[str, tuple[Device, ...]] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take one event."""
        given = event.body.get("devices")
        devices = tuple(map(Device.model_validate, given)) if isinstance(given, list) else ()
        self.projects[str(event.body["project"])] = devices

    def owners(self) -> Mapping[DeviceId, str]:
        """Project of each device."""
        return {
            device.id: project for project, devices in self.projects.items() for device in devices
        }

    def owners_in(self, policy: Policy) -> Mapping[DeviceId, str]:
        """Project of each device that the policy still keeps for one."""
        if not any(self.projects.values()):
            return {}
        return {
            device: project
            for device, project in self.owners().items()
            if project in policy.projects and policy.projects[project].device is not None
        }


def read(ledger: Ledger) -> DevicePins:
    """Make the present state of all events; they are few, and found by their kind."""
    pins = DevicePins()
    with ledger.transaction() as tx:
        for event in tx.every((PINNED,)):
            pins.apply(event)
    return pins
