"""The core's part that hears: of devices from agents, of kernels and terminals from servers.

Like the rest of the core: synchronous, in one thread, `now` with each call. It decides nothing.
"""

from collections.abc import Mapping
from datetime import datetime

from ...idle import Readings
from ...lease import (
    Activity,
    Device,
    DeviceId,
    Inventory,
    LeaseId,
    OpenLease,
    SampleBatch,
    ServerKey,
    Verdict,
    WatchList,
)
from ...policy.model import IdleRule
from ..books.desk import Desk
from ..hearing import watching
from ..hearing.readings import gathered
from ..leasing.attempts import keyed
from ..reclaim.unchanged import unchanged


class SamplesCore:
    """Everything of the governor that takes readings and gives them out."""

    _desk: Desk

    def take_samples(self, batch: SampleBatch, *, now: datetime) -> WatchList:
        """Keep a batch; tell the agent which leases to watch."""
        return watching.take(self._desk, batch, now=now)

    def take_activity(self, key: ServerKey, told: Activity, *, now: datetime) -> None:
        """Keep what a server says of itself; see `activity.Activities.take`."""
        self._desk.activity.take(keyed(self._desk, key), told, now=now)

    def inventories(self, *, now: datetime) -> tuple[Inventory, ...]:
        """Newest inventory of each node that is not silent."""
        return self._desk.floor.inventories(now=now)

    def devices(self, *, now: datetime) -> tuple[Device, ...]:
        """Devices that may be handed out now, held or not; none while no policy is in force."""
        policy = self._desk.book.known
        return () if policy is None else self._desk.in_service(policy, now=now)

    def readings(self, lease_id: LeaseId, since: datetime, *, now: datetime) -> Readings:
        """Gather what the idle rule hears of a lease since an instant."""
        with self._desk.turn(now) as turn:
            lease = turn.found(lease_id)
        return self.readings_of(lease, since, now=now)

    def readings_of(self, lease: OpenLease, since: datetime, *, now: datetime) -> Readings:
        """Gather the same of a lease that was read just now."""
        return gathered(self._desk, lease, since, now)

    def unchanged(self, lease: OpenLease, rule: IdleRule, *, now: datetime) -> Verdict | None:
        """Give the newest verdict where judging again would find the same; see `unchanged`."""
        return unchanged(self._desk, lease, rule, now=now)

    def held_devices(self, lease: OpenLease, *, now: datetime) -> list[DeviceId]:
        """Ids of the devices that a lease really holds, as far as anybody knows them."""
        return [device.id for device in self._desk.held_for.devices(lease, now)]

    def take_servers(
        self,
        servers: Mapping[tuple[str, str], LeaseId],
        machines: Mapping[LeaseId, str] | None = None,
    ) -> None:
        """Take which lease each server's container on Kubernetes is of, and where each runs."""
        self._desk.held_for.take_servers(servers, machines or {})

    def judged(
        self, lease_id: LeaseId, verdict: Verdict, *, rule: IdleRule | None = None, now: datetime
    ) -> Verdict:
        """Keep the newest verdict of a lease, on record where it tells something new."""
        return watching.judged(self._desk, lease_id, verdict, rule=rule, now=now)
