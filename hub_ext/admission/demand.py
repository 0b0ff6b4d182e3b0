"""What one request wants of a pool, whether it arrives now or waits already."""

from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from ..lease import LeaseId, OpenLease, PoolName, ServerKey
from ..lease.reserving import Alone
from .decision import Request

NONE_YET = "~"
"""Stands for the id of a request that has no lease yet; comes after every id."""


class Demand(NamedTuple):
    """What one request wants of a pool, whether it arrives now or waits already.

    `tie` ends every comparison: the lease id, or `NONE_YET`. A tuple, because a long
    queue is made of it at each decision.
    """

    key: ServerKey
    team: str
    pool: PoolName
    flavor: str
    units: int
    priority: int
    requested_at: datetime
    tie: str = NONE_YET
    project: str | None = None
    task_type: str | None = None
    only_guaranteed: bool = False
    alone: Alone | None = None
    asked_at: datetime | None = None
    """When it was asked for, where it keeps an older place than that."""
    profile: str = ""
    lifetime_s: int | None = None
    """How long it is to live, where that was chosen."""
    until: datetime | None = None
    """When it ends, where that is the end of a reservation."""
    replaces: LeaseId | None = None
    """Lease of the same server that runs on until this can start."""

    @property
    def waits_since(self) -> datetime:
        """Since when it waits itself; its place may be older."""
        return self.asked_at or self.requested_at

    @property
    def gpus(self) -> int:
        """Whole GPUs; 0 for a MIG device."""
        return int(self.flavor[4:]) if self.flavor.startswith("gpu-") else 0

    @property
    def mig_profile(self) -> str | None:
        """MIG profile or time-share; None for whole GPUs."""
        return None if self.gpus else self.flavor


def demand_of(request: Request, pool: PoolName) -> Demand:
    """Take from a request what admission needs; `pool` is its pool, which exists."""
    resolved = request.resolved
    return Demand(
        request.key,
        resolved.team,
        pool,
        resolved.flavor,
        resolved.units,
        request.priority,
        request.requested_at,
        request.lease_id or NONE_YET,
        project=resolved.project,
        task_type=resolved.task_type,
        only_guaranteed=resolved.choice.only_guaranteed,
        alone=resolved.choice.alone,
        asked_at=request.asked_at,
        profile=resolved.profile,
        lifetime_s=int(resolved.lifetime.total_seconds()),
        until=request.until,
        replaces=request.replaces,
    )


_WAITING = attrgetter(
    "flavor",
    "units",
    "priority",
    "requested_at",
    "id",
    "project",
    "task_type",
    "choice.only_guaranteed",
    "alone",
    "asked_at",
    "profile",
    "choice.lifetime_s",
    "reserved_until",
    "replaces",
)
"""Where a lease has what follows the pool in a demand, in that order."""


def waiting_demand(lease: OpenLease, pool: PoolName) -> Demand:
    """Take the same from a lease that waits."""
    return Demand._make((lease.key, lease.team, pool, *_WAITING(lease)))
