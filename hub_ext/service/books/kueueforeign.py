"""Batch work beside the servers: it draws on the same quota, counts, is shown and never charged.

It is no lease. For a decision it stands in the snapshot as one that holds its units.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from ...admission.order import promotions
from ...kube import names
from ...kube.engine import Phase, Seen
from ...kube.podterms import place_of
from ...lease import (
    AttemptId,
    BatchLoad,
    Choice,
    Device,
    LeaseId,
    LeaseState,
    OpenLease,
    PoolName,
    ProfileName,
    ProjectName,
    ServerKey,
    Standing,
    TeamName,
    UserName,
)
from ...mig.geometry import device_units
from ...policy.model import Policy
from .kueuebook import KueueBook

MARK = "batch-"
"""Begins the id that batch work has in a snapshot; no lease is called so."""

PROFILE = ProfileName("(batch)")

Whose = tuple[TeamName, ProjectName | None]


def is_foreign(lease_id: LeaseId) -> bool:
    """Whether what is called so in a snapshot is batch work, of which the ledger knows nothing."""
    return lease_id.startswith(MARK)


def beside(
    book: KueueBook | None,
    policy: Policy,
    leases: tuple[OpenLease, ...],
    devices: Iterable[Device],
    *,
    single: str,
    now: datetime,
) -> tuple[OpenLease, ...]:
    """Give the batch work that holds units, as a decision is to see it.

    Parameters
    ----------
    devices
        Places in service.
    single
        The one namespace of a site that has none for each project; else empty.
    """
    if book is None or not book.foreign:
        return ()
    taken = {device.id for lease in leases if lease.holding for device in lease.takes}
    free = [device for device in devices if device.id not in taken]
    found: list[OpenLease] = []
    for one, pool, (team, project) in _ours(book, policy, single):
        if not one.holds:
            continue
        takes = _places(free, pool, one.units)
        free = [device for device in free if device not in takes]
        # The API server's clock may be ahead.
        since = min(one.created_at, now)
        found.append(_as_lease(one, (pool, team, project), takes, since))
    up = set(promotions(policy, (*leases, *found)))
    guaranteed = {"standing": Standing.guaranteed}
    return tuple(one.model_copy(update=guaranteed) if one.id in up else one for one in found)


def listed(book: KueueBook | None, policy: Policy, *, single: str) -> tuple[BatchLoad, ...]:
    """List the batch work in the policy's queues, the oldest first."""
    if book is None:
        return ()
    return tuple(
        BatchLoad(
            name=one.owner or one.name,
            namespace=one.namespace,
            team=team,
            project=project,
            pool=pool,
            units=one.units,
            holds=one.holds,
            called_in=one.phase is Phase.evicted,
            since=one.created_at,
        )
        for one, pool, (team, project) in _ours(book, policy, single)
        if one.phase not in {Phase.finished, Phase.deactivated}
    )


def _ours(book: KueueBook, policy: Policy, single: str) -> list[tuple[Seen, PoolName, Whose]]:
    """Foreign Workloads that ask at one of the policy's queues for one of its pools."""
    doors = _doors(policy, single or None)
    flavors = {names.flavor(pool): PoolName(pool) for pool in policy.pools}
    labels = {names.label_value(pool): PoolName(pool) for pool in policy.pools}
    found = []
    for one in sorted(book.foreign.values(), key=lambda one: (one.created_at, one.uid)):
        whose = doors.get((one.namespace, one.queue))
        pool = flavors.get(one.flavor) or labels.get(one.pool or "")
        if whose is not None and pool is not None:
            found.append((one, pool, whose))
    return found


def _doors(policy: Policy, single: str | None) -> Mapping[tuple[str, str], Whose]:
    """Tell by namespace and LocalQueue whose quota is asked for."""
    owners: list[Whose] = [(TeamName(team), None) for team in policy.teams]
    owners += [
        (TeamName(one.team), ProjectName(name))
        for name, one in policy.projects.items()
        if one.team in policy.teams
    ]
    doors = {}
    for team, project in owners:
        place = place_of(policy, team, project, single)
        doors[place.namespace, place.local_queue] = (team, project)
    return doors


def _places(free: list[Device], pool: PoolName, units: int) -> tuple[Device, ...]:
    """Choose places that together are so many units; which ones, only the cluster knows."""
    found: list[Device] = []
    left = units
    for device in reversed(free):
        if device.pool == pool and device_units(device) <= left:
            found.append(device)
            left -= device_units(device)
    return tuple(found)


def _as_lease(
    one: Seen,
    whose: tuple[PoolName, TeamName, ProjectName | None],
    takes: tuple[Device, ...],
    since: datetime,
) -> OpenLease:
    pool, team, project = whose
    ends = one.phase is Phase.evicted
    part = takes[0].part if takes else None
    return OpenLease(
        id=LeaseId(f"{MARK}{one.uid}"),
        key=ServerKey(user=UserName(f"{MARK}{one.namespace}/{one.name}")),
        attempt_id=AttemptId(one.uid),
        choice=Choice(profile=PROFILE),
        team=team,
        project=project,
        profile=PROFILE,
        pool=pool,
        flavor=part or f"gpu-{len(takes)}",
        units=one.units,
        devices=takes,
        standing=Standing.borrowed,
        state=LeaseState.stopping if ends else LeaseState.running,
        state_since=since,
        requested_at=since,
        assigned_at=since,
        started_at=since,
        priority=one.number,
        weight=min(999, max(0, one.number % 1000)),
        # Whoever submits a job is promised no time: Kueue takes it when an owner asks.
        safe_until=since,
        policy_generation=0,
    )
