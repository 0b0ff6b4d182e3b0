"""Which leases are to be on Kueue now, each with its number: the governor's will, as data.

Pure: it looks at one snapshot. Whoever works it off compares it with what is seen there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...admission.decide import Admitted, Decision, Queued
from ...admission.owners import owners
from ...admission.priority import BAND, CALLED_IN, HIGHEST, RUNNING, WAITING
from ...admission.queue import Waiting, line
from ...admission.snapshot import NOBODY, Snapshot, scene
from ...kube import names
from ...kube.engine import Wanted
from ...kube.podterms import place_of
from ...lease import LeaseId, LeaseState, OpenLease, PoolName
from ...policy.model import Policy
from ..books.kueuebook import HUB_LABEL

WAITS_FOR_QUOTA = frozenset(
    {
        "borrowing-limit",
        "capacity-missing",
        "guarantee-lent",
        "guarantee-used",
        "nothing-to-borrow",
    }
)
"""Answers that Kueue's own quota gives as well. Whatever else a request waits for, a cap, a device
of its shape, its owner's wish, Kueue knows nothing of: it would let it hold quota meanwhile."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How a lease is to stand on Kueue.

    `active` is whether it may be admitted; `number` its priority; `before` are leases whose
    numbers must have been lowered before its own is written, since that wakes Kueue.
    """

    active: bool
    number: int
    before: tuple[LeaseId, ...] = ()


def wishes(snapshot: Snapshot) -> dict[LeaseId, Wish]:
    """Give every lease with a GPU how it is to stand, by one look at all of them.

    One whose pool the policy no longer has is left as it is: it is closed, or runs to its end.
    """
    pools = snapshot.policy.pools
    if any(one.state is LeaseState.queued and one.pool not in pools for one in snapshot.leases):
        left = tuple(
            one
            for one in snapshot.leases
            if one.state is not LeaseState.queued or one.pool in pools
        )
        snapshot = snapshot.model_copy(update={"leases": left})
    found = {one.lease.id: one for one in line(snapshot)}
    asks = submitted(snapshot, found.values())
    called: dict[LeaseId, list[LeaseId]] = {}
    for lease in snapshot.leases:
        if lease.called_in is not None and lease.state is not LeaseState.stopping:
            called.setdefault(lease.called_in.for_lease, []).append(lease.id)
    made: dict[LeaseId, Wish] = {}
    for lease in snapshot.leases:
        if lease.pool is None:
            continue
        if lease.state is LeaseState.queued:
            before = tuple(sorted(called.get(lease.id, ())))
            made[lease.id] = Wish(lease.id in asks, lease.priority, before)
        elif lease.holding:
            made[lease.id] = Wish(active=True, number=number(lease))
    return made


def number(lease: OpenLease) -> int:
    """Number of a lease that has devices: above all who wait, or below them once called in."""
    band = RUNNING if lease.called_in is None else CALLED_IN
    return band * BAND + max(0, min(HIGHEST, lease.weight))


def asking(number: int) -> int:
    """Number with which a lease is submitted, whatever it is to have: nobody is evicted by it."""
    return WAITING * BAND + number % BAND


def submitted(snapshot: Snapshot, waiting: Iterable[Waiting]) -> set[LeaseId]:
    """Requests that Kueue may admit.

    Inside a guarantee always. Those that would borrow only while no owner waits in the pool: else
    Kueue would admit them past an owner whose victims have not gone yet.
    """
    every = tuple(waiting)
    found: set[LeaseId] = set()
    for pool in sorted({PoolName(str(one.lease.pool)) for one in every}):
        view = scene(snapshot, pool, without=NOBODY, lease_id=None)
        owns = {LeaseId(one.demand.tie) for one in owners(view)}
        here = [one for one in every if one.lease.pool == pool]
        found |= owns
        found |= {one.lease.id for one in here if isinstance(one.decision, Admitted)}
        if not owns:
            found |= {one.lease.id for one in here if _waits_for_quota(one.decision)}
    return found


def _waits_for_quota(decision: Decision) -> bool:
    return isinstance(decision, Queued) and decision.reason.code in WAITS_FOR_QUOTA


def wanted(
    policy: Policy, lease: OpenLease, number: int, *, hub: str, single: str | None
) -> Wanted | None:
    """Make the Workload of a lease; None where the policy no longer has its pool or project.

    Parameters
    ----------
    hub
        Name of the governor's hub.
    single
        The one namespace of a site that has none for each project.
    """
    pool = policy.pools.get(str(lease.pool))
    if pool is None or (lease.project is not None and lease.project not in policy.projects):
        return None
    place = place_of(policy, lease.team, lease.project, single)
    name = PoolName(str(lease.pool))
    labels = names.lease_labels(lease.id, lease.team, lease.project, name)
    return Wanted(
        lease_id=lease.id,
        namespace=place.namespace,
        queue=place.local_queue,
        pool=name,
        node_selector=pool.selector,
        units=lease.units,
        number=asking(number),
        labels={**labels, HUB_LABEL: names.label_value(hub)},
    )
