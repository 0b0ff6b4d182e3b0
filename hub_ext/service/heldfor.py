"""Which real devices the server of each lease holds on Kubernetes, where leases hold places.

The device plugin of a machine chooses; its kubelet tells the agent, by container, and the cluster
tells the governor which lease a container belongs to. Until both are known nothing is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..lease import Device, DeviceHolding, DeviceId, LeaseId, OpenLease, SampleBatch
from .slots import SLOT

STALE_S = 60.0
"""What a kubelet told longer ago says nothing of now; at least five periods of its agent."""

Place = tuple[str, str]
"""Namespace and name of a server's container, as Kubernetes has them."""


@dataclass
class HeldFor:
    """The newest word of each machine's kubelet, and of the cluster."""

    _told: dict[str, tuple[datetime, timedelta, tuple[DeviceHolding, ...]]] = field(
        default_factory=dict
    )
    _leases: dict[Place, LeaseId] = field(default_factory=dict)

    def take(self, batch: SampleBatch, now: datetime) -> None:
        """Take what a machine's kubelet tells; where it did not answer, the last word ages."""
        if batch.holdings is not None:
            lasts = timedelta(seconds=max(STALE_S, 5 * batch.period_s))
            self._told[batch.node] = (now, lasts, batch.holdings)

    def take_servers(self, servers: Mapping[Place, LeaseId]) -> None:
        """Take which lease each server's container is of."""
        self._leases = dict(servers)

    def ids(self, lease_id: LeaseId, now: datetime) -> dict[DeviceId, str]:
        """Give the devices that a lease holds, each with its machine; none where none is known."""
        return {
            one.device: node
            for node, (at, lasts, holdings) in self._told.items()
            if timedelta(0) <= now - at <= lasts
            for one in holdings
            if self._leases.get((one.namespace, one.pod)) == lease_id
        }

    def devices(self, lease: OpenLease, now: datetime) -> tuple[Device, ...]:
        """Give the devices of a lease by their own ids, where it holds places and they are known.

        A place is of a kind, and so is what was given for it: the rest of it stays as it is.
        """
        places = [one for one in lease.devices if one.id.startswith(SLOT)]
        if not places:
            return lease.devices
        real = self.ids(lease.id, now)
        if len(real) != len(places):
            return lease.devices
        return tuple(
            place.model_copy(update={"id": device, "node": node})
            for place, (device, node) in zip(places, sorted(real.items()), strict=True)
        )
