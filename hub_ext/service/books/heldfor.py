"""Which real devices the server of each lease holds on Kubernetes, where leases hold places.

The device plugin of a machine chooses; its kubelet tells the agent, by container, and the cluster
tells the governor which lease a container belongs to. Until both are known nothing is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from ...lease import Device, DeviceHolding, DeviceId, LeaseId, OpenLease, SampleBatch
from .slots import SLOT

STALE_S = 60.0
"""What a kubelet told longer ago says nothing of now; at least five periods of its agent."""

Place = tuple[str, str]
"""Namespace and name of a server's container, as Kubernetes has them."""


class _Word(NamedTuple):
    """What a machine's kubelet told, when, how long that stands, and which devices each has."""

    at: datetime
    lasts: timedelta
    devices: dict[Place, list[DeviceId]]

    def stands(self, now: datetime) -> bool:
        """Whether it says anything of now."""
        return timedelta(0) <= now - self.at <= self.lasts


def _by_place(holdings: Iterable[DeviceHolding]) -> dict[Place, list[DeviceId]]:
    devices: dict[Place, list[DeviceId]] = {}
    for one in holdings:
        devices.setdefault((one.namespace, one.pod), []).append(one.device)
    return devices


@dataclass
class HeldFor:
    """The newest word of each machine's kubelet, and of the cluster."""

    _told: dict[str, _Word] = field(default_factory=dict)
    _nodes: dict[Place, set[str]] = field(default_factory=dict)
    """Machines whose kubelet named a container; each lease is asked for with every batch, so
    looking through what all kubelets told is too dear."""
    _servers: dict[Place, LeaseId] = field(default_factory=dict)
    _places: dict[LeaseId, list[Place]] = field(default_factory=dict)
    _machines: dict[LeaseId, str] = field(default_factory=dict)

    def take(self, batch: SampleBatch, now: datetime) -> None:
        """Take what a machine's kubelet tells; where it did not answer, the last word ages."""
        if batch.holdings is not None:
            lasts = timedelta(seconds=max(STALE_S, 5 * batch.period_s))
            former = self._told.get(batch.node)
            word = self._told[batch.node] = _Word(now, lasts, _by_place(batch.holdings))
            for place in former.devices if former else ():
                self._forget(place, batch.node)
            for place in word.devices:
                self._nodes.setdefault(place, set()).add(batch.node)

    def take_servers(
        self, servers: Mapping[Place, LeaseId], machines: Mapping[LeaseId, str]
    ) -> None:
        """Take which lease each server's container is of, and on which machine each lease runs."""
        self._machines = dict(machines)
        self._servers = dict(servers)
        places: dict[LeaseId, list[Place]] = {}
        for place, lease_id in servers.items():
            places.setdefault(lease_id, []).append(place)
        self._places = places

    def named_by(self, node: str) -> set[LeaseId]:
        """Leases of whose containers a machine's kubelet told last."""
        word = self._told.get(node)
        places = () if word is None else word.devices
        return {self._servers[place] for place in places if place in self._servers}

    def machine(self, lease: OpenLease) -> str | None:
        """Machine on which the server of a lease runs, as the cluster told; None is unknown."""
        return self._machines.get(lease.id)

    def ids(self, lease: OpenLease, now: datetime) -> dict[DeviceId, str]:
        """Give the devices that a lease holds, each with its machine; none where none is known.

        A server that begins anew has the name of its former container: what was told before the
        lease had its places is of that one.
        """
        since = lease.assigned_at
        return {
            device: node
            for place in self._places.get(lease.id, ())
            for node in self._nodes.get(place, ())
            if self._told[node].stands(now) and (since is None or self._told[node].at >= since)
            for device in self._told[node].devices[place]
        }

    def _forget(self, place: Place, node: str) -> None:
        """Take a machine from those that name a container."""
        nodes = self._nodes[place]
        nodes.discard(node)
        if not nodes:
            del self._nodes[place]

    def devices(self, lease: OpenLease, now: datetime) -> tuple[Device, ...]:
        """Give the devices of a lease by their own ids, where it holds places and they are known.

        A place is of a kind, and so is what was given for it: the rest of it stays as it is.
        """
        places = [one for one in lease.devices if one.id.startswith(SLOT)]
        if not places:
            return lease.devices
        real = self.ids(lease, now)
        if len(real) != len(places):
            return lease.devices
        return tuple(
            place.model_copy(update={"id": device, "node": node})
            for place, (device, node) in zip(places, sorted(real.items()), strict=True)
        )
