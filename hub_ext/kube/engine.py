"""What the governor wants of Kueue and what it sees there: frozen values, no client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ..lease import LeaseId, PoolName


class Phase(StrEnum):
    """How a Workload stands, the strongest first."""

    finished = "finished"
    """Its quota is free; it is kept as a record only."""
    deactivated = "deactivated"
    """Somebody took it out: its quota is free at once, whatever the conditions say."""
    evicted = "evicted"
    """Kueue wants it gone. One that was admitted keeps its quota until it is deleted."""
    admitted = "admitted"
    """It has its quota."""
    pending = "pending"
    """It waits; `reason` and `message` are Kueue's, and empty behind a blocked head."""


PREEMPTED = "Preempted"
PODS_READY_TIMEOUT = "PodsReadyTimeout"
CLUSTER_QUEUE_STOPPED = "ClusterQueueStopped"
LOCAL_QUEUE_STOPPED = "LocalQueueStopped"
DEACTIVATED = "Deactivated"
"""Kueue's reasons of an eviction, as `Seen.evicted_for` says them; it may know others."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A lease as it is to be submitted: `units` of one pool, asked for at a queue.

    `number` is its priority: band x 1000 + weight. `node_selector` is the pool's own; the label
    that names the flavor is added. `labels` are those of `names.lease_labels` and any others.
    """

    lease_id: LeaseId
    namespace: str
    queue: str
    pool: PoolName
    node_selector: Mapping[str, str]
    units: int
    number: int
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """A Workload as it stands. `lease_id` is None exactly where it is foreign: none of ours.

    Parameters
    ----------
    reason, message
        Of the condition that makes the phase, in Kueue's words; empty where there is none.
    number
        Its priority.
    units
        What it holds or asks for of the one resource, in units; 0 where Kueue has not counted it.
    evicted_for
        Kueue's reason while it is evicted, also of one that is deactivated.
    holds
        Whether it counts against quota now.
    pool
        As its label or its selector says; None where neither does.
    flavor
        Kueue's ResourceFlavor for its units; empty until it has one.
    owner
        Of a foreign one: kind and name of what it stands for ("Job train-3"), else its own name.
    version
        The API's resource version: opaque, of use for equality alone.
    """

    lease_id: LeaseId | None
    name: str
    namespace: str
    uid: str
    phase: Phase
    reason: str
    message: str
    number: int
    units: int
    created_at: datetime
    evicted_for: str | None = None
    holds: bool = False
    pods_ready: bool = False
    queue: str = ""
    pool: PoolName | None = None
    flavor: str = ""
    owner: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    version: str = ""

    @property
    def foreign(self) -> bool:
        """Whether it is somebody else's: it counts and is shown, and is not charged."""
        return self.lease_id is None


@dataclass(frozen=True, slots=True)
class Gone:
    """A Workload that is no more."""

    lease_id: LeaseId | None
    name: str
    namespace: str
    uid: str
