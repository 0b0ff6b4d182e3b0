"""What a decision looks at: one policy, the open leases, the devices in service, one instant.

It holds open leases only, so a decision costs the same however long the history is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Annotated

from pydantic import AwareDatetime, SkipValidation

from ..lease import (
    HOLDING,
    Device,
    DeviceId,
    LeaseState,
    Maintenance,
    OpenLease,
    PoolName,
    ServerKey,
    ServerName,
    Standing,
    UserName,
    Value,
)
from ..lease.budgets import Budgeted
from ..lease.reserving import Reserved
from ..mig.alone import beside
from ..mig.geometry import Cut, declared_devices, device_units, part_units, parts_of
from ..policy.model import Policy
from ..units import UNITS_PER_GPU
from .demand import NONE_YET, Demand, demand_of, waiting_demand
from .levels import may_use, pool_nodes, queue_of
from .quota import Node, Quotas, charge, pool_quotas

__all__ = [
    "NOBODY",
    "NONE_YET",
    "Demand",
    "Scene",
    "Snapshot",
    "Views",
    "demand_of",
    "may_use",
    "scene",
    "units_of",
    "waiting_demand",
    "whole",
]

NOBODY = ServerKey(user=UserName("\x00"), server=ServerName("\x00"))
"""No server can be called so, hence no request is left out of the count."""


class Snapshot(Value):
    """The world at one instant. `devices` are in service; `notes` name what is missing."""

    policy: Policy
    generation: int
    at: AwareDatetime
    leases: tuple[OpenLease, ...] = ()
    devices: tuple[Device, ...] = ()
    notes: tuple[str, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    """What is announced and not over."""
    reservations: tuple[Reserved, ...] = ()
    """Times of reservations that have begun, or begin while a new lease may live."""
    recent: Annotated[Mapping[str, int], SkipValidation] = {}
    """GPU-seconds that each person had lately, faded; who is not here had none."""
    budgets: Annotated[tuple[Budgeted, ...], SkipValidation] = ()
    """What budgets stand at, in their present periods and those that a new lease may touch."""
    pinned: Annotated[Mapping[DeviceId, str], SkipValidation] = {}
    """Project of each device that is kept for one."""
    unclean: Annotated[Mapping[DeviceId, str], SkipValidation] = {}
    """Team of each device that nobody has seen empty since a lease of that team ended on it."""


_Owner = tuple[str, str | None]
"""Team and project."""


@dataclass
class _Parts:
    """Leases of a pool by what they do."""

    holding: list[OpenLease] = field(default_factory=list)
    queued: list[OpenLease] = field(default_factory=list)
    held: list[Device] = field(default_factory=list)
    alone: list[OpenLease] = field(default_factory=list)
    here: list[Device] = field(default_factory=list)
    units: dict[_Owner, list[int]] = field(default_factory=dict)
    """Units held, and those of guaranteed leases among them."""


def _parts_of(leases: Iterable[OpenLease], pool: PoolName) -> _Parts:
    """Look at every lease once, in one loop: it is most of what a decision takes."""
    parts, queued, guaranteed = _Parts(), LeaseState.queued, Standing.guaranteed
    held, here, units = parts.held, parts.here, parts.units
    holding = HOLDING
    for one in leases:
        # As attributes of a pydantic model its fields would take a third longer.
        known = vars(one)
        state = known["state"]
        if state in holding:
            devices = known["devices"]
            held += devices
            if known["alone"] is not None:
                held += one.rest
                parts.alone.append(one)
            if known["pool"] != pool:
                continue
            parts.holding.append(one)
            here += devices if known["alone"] is None else one.takes
            owner = (known["team"], known["project"])
            taken = units.get(owner)
            if taken is None:
                taken = units[owner] = [0, 0]
            taken[0] += known["units"]
            if known["standing"] is guaranteed:
                taken[1] += known["units"]
        elif state is queued and known["pool"] == pool:
            parts.queued.append(one)
    return parts


@dataclass(frozen=True)
class Scene:
    """One pool at one instant, as one request meets it: without the request's own lease.

    `taken` are demands ahead of it that fit: their units and devices are spoken for.
    """

    snapshot: Snapshot
    pool: PoolName
    others: tuple[OpenLease, ...]
    taken: tuple[tuple[Demand, tuple[Device, ...]], ...] = ()
    reserved: tuple[Reserved, ...] = ()
    """Reservations of the pool but those of the request's own server."""

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.snapshot.policy

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Devices of this pool that are in service, held or not."""
        pool = self.pool
        return tuple([device for device in self.snapshot.devices if device.pool == pool])

    @cached_property
    def declared(self) -> tuple[Device, ...]:
        """Devices that the policy says the pool has."""
        return declared_devices(self.pool, self.policy.pools[self.pool])

    @cached_property
    def _parts(self) -> _Parts:
        return _parts_of(self.others, self.pool)

    @cached_property
    def holding(self) -> tuple[OpenLease, ...]:
        """Leases that hold GPUs of this pool."""
        return tuple(self._parts.holding)

    @property
    def secured(self) -> Mapping[_Owner, int]:
        """Units that guaranteed leases hold, by team and project."""
        return {owner: taken[1] for owner, taken in self._parts.units.items()}

    @cached_property
    def held(self) -> frozenset[DeviceId]:
        """Devices that are not free, of any pool."""
        ahead = (device.id for _, devices in self.taken for device in devices)
        kept = (device.id for one in self.kept for device in one.devices)
        taken = (device.id for device in self._parts.held)
        return frozenset((*taken, *ahead, *kept, *self._closed_off))

    @property
    def _closed_off(self) -> frozenset[DeviceId]:
        """Devices beside a lease that is alone, which may have come into service after it."""
        return frozenset(
            name
            for lease in self._parts.alone
            if lease.alone is not None
            for name in beside(self.snapshot.devices, lease.takes, lease.alone)
        )

    @property
    def known(self) -> tuple[Device, ...]:
        """Every device that is in service here, held by a lease, or spoken for."""
        ahead = (device for _, devices in self.taken for device in devices)
        kept = (device for one in self.kept for device in one.devices)
        return (*self._parts.held, *ahead, *kept, *self.devices)

    @cached_property
    def free(self) -> tuple[Device, ...]:
        """Devices of this pool that are in service and not held."""
        held = self.held
        return tuple(device for device in self.devices if device.id not in held)

    @cached_property
    def kept(self) -> tuple[Reserved, ...]:
        """Reservations that have begun and have devices kept for them, but no lease."""
        return tuple(one for one in self.reserved if one.devices and one.lease_id is None)

    @cached_property
    def waiting(self) -> tuple[Demand, ...]:
        """Requests that wait in this pool, in no order."""
        return tuple(waiting_demand(lease, self.pool) for lease in self._parts.queued)

    @cached_property
    def quotas(self) -> Quotas:
        """Quota of the pool on what is in service, with what is held."""
        here = self._parts.here
        gone = frozenset(map(_ID, here)).difference(map(_ID, self.devices))
        lost = {device.id: device for device in here if device.id in gone} if gone else {}
        capacity = units_of(self.devices) + units_of(lost.values())
        held = {owner: taken[0] for owner, taken in self._parts.units.items()}
        for demand, _devices in self.taken:
            owner = (demand.team, demand.project)
            held[owner] = held.get(owner, 0) + demand.units
        for time in self.kept:
            held[time.team, None] = held.get((time.team, None), 0) + time.units
        holdings = [
            (queue_of(self.policy, team, project, self.pool), units)
            for (team, project), units in held.items()
        ]
        return pool_quotas(self._nodes, holdings, capacity)

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return pool_nodes(self.policy, self.pool)

    def queue(self, one: Demand | OpenLease) -> str:
        """Queue of the pool that a request or lease belongs to."""
        owner = (one.team, one.project)
        found = self._queues.get(owner)
        if found is None:
            found = self._queues[owner] = queue_of(self.policy, *owner, self.pool)
        return found

    @cached_property
    def _queues(self) -> dict[_Owner, str]:
        """Queues that were looked up: a long line asks for the same few again and again."""
        return {}

    @cached_property
    def declared_quotas(self) -> Quotas:
        """Quota of the pool with every declared device in service and nothing held."""
        rules = self.policy.pools[self.pool]
        kinds = Counter[Cut](cut for node in rules.nodes for cut in node.geometry[: node.gpus])
        kinds["whole"] += sum(node.gpus for node in rules.nodes) - kinds.total()
        capacity = sum(_cut_units(rules.model, cut) * count for cut, count in kinds.items())
        return pool_quotas(self._nodes, (), capacity)

    def after(self, demand: Demand, devices: tuple[Device, ...]) -> "Scene":
        """Give the scene in which one more demand has its devices."""
        new = replace(self, taken=(*self.taken, (demand, devices)))
        known = {name: self.__dict__[name] for name in _STEADY if name in self.__dict__}
        held = self.held | {device.id for device in devices}
        quotas = charge(self.quotas, self.queue(demand), demand.units)
        new.__dict__.update(known, held=held, quotas=quotas, before=self.before)
        return new

    @cached_property
    def before(self) -> "Scene":
        """The scene before anybody of those that wait had devices."""
        return self

    def alone(self) -> "Scene":
        """Give the scene in which nobody waits."""
        queued = LeaseState.queued
        return replace(self, others=tuple(one for one in self.others if one.state is not queued))


def scene(snapshot: Snapshot, pool: PoolName, *, without: ServerKey, lease_id: str | None) -> Scene:
    """Look at one pool as the server `without` meets it: its own lease does not count."""
    closed, user = LeaseState.closed, without.user
    others = snapshot.leases
    # Mostly all of them count, which is cheaper to see than to pick each.
    own = user in map(_USER, others) or (lease_id is not None and lease_id in map(_ID, others))
    if own or closed in map(_STATE, others):
        others = tuple(
            lease
            for lease in others
            if lease.state is not closed
            and lease.id != lease_id
            and (lease.key.user != user or not _same(lease.key, without))
        )
    reserved = tuple(
        one for one in snapshot.reservations if one.pool == pool and not _same(one.key, without)
    )
    return Scene(snapshot, pool, others, reserved=reserved)


Views = dict[PoolName, Scene]
"""Pools of one snapshot that were looked at."""


def whole(snapshot: Snapshot, pool: PoolName, views: Views) -> Scene:
    """Look at one pool as nobody's own request meets it, once for all who share `views`."""
    if pool not in views:
        views[pool] = scene(snapshot, pool, without=NOBODY, lease_id=None)
    return views[pool]


_STEADY = (
    "_parts",
    "_nodes",
    "_queues",
    "devices",
    "declared",
    "holding",
    "kept",
    "waiting",
    "declared_quotas",
    "owners",
    "ends",
)
"""What does not change where one more request has its devices."""


_ID, _STATE, _USER = attrgetter("id"), attrgetter("state"), attrgetter("key.user")
_PROFILE, _SHARED = attrgetter("mig_profile"), attrgetter("shared_by")
_KIND = attrgetter("model", "mig_profile", "shared_by")
"""What a device's units depend on."""


def units_of(devices: Iterable[Device]) -> int:
    """Units of devices together; each kind is looked up once, as a pool has few."""
    there = tuple(devices)
    if not any(map(_PROFILE, there)) and not any(map(_SHARED, there)):
        return UNITS_PER_GPU * len(there)
    one_of = {_KIND(device): device for device in there}
    counts = Counter(map(_KIND, there))
    return sum(device_units(one_of[kind]) * count for kind, count in counts.items())


def _same(one: ServerKey, other: ServerKey) -> bool:
    # Field by field: pydantic's own comparison was a third of a decision's time.
    return one.user == other.user and one.server == other.server and one.hub == other.hub


def _cut_units(model: str, cut: Cut) -> int:
    if cut == "whole":
        return UNITS_PER_GPU
    return sum(part_units(model, name) for name in parts_of(cut))
