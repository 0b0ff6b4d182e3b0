"""Gathers what the search for anomalies looks at, from leases, readings, books and machines.

It reads. What an anomaly stands for in money is reckoned here, from prices alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from ...admission.protection import LIVE
from ...anomaly import Facts, Finding, Held, Pool, Reach, Silence, Stranger, Stray, of_lease
from ...lease import Device, DeviceId, LeaseId, LeaseState, OpenLease, StrayProcess
from ...metering import cost
from ...mig.geometry import device_units
from ...policy.model import Policy
from ...policy.prices import WHOLE_GPU, price_at
from ..books.anomalybook import Looked
from ..books.desk import Desk, Turn
from ..books.kueueforeign import listed
from ..books.slots import SLOT
from ..leasing.closing import spans
from ..leasing.forgotten import END
from ..leasing.views import cost_of


def look(desk: Desk, lease: OpenLease, policy: Policy, *, now: datetime) -> None:
    """Look at one live lease's readings and its cost, and keep what is odd about it."""
    first = max(now - policy.anomalies.hoarding, lease.started_at or now)
    devices = desk.held_for.devices(lease, now)
    spells = tuple(desk.samples.spell(device.id, first) for device in devices)
    read = any(one.readings for one in spells)
    long_ago, activity = now - policy.anomalies.gaming, desk.activity.of(lease, now)
    old = lease.started_at is not None and lease.started_at <= long_ago
    held = Held(
        lease=lease,
        spells=spells,
        tasks=desk.samples.tasks(lease.id, first),
        life=desk.samples.life(lease.id),
        cost_micro=cost_of(desk, lease, now).so_far_micro,
        # A place on Kubernetes is read only where its real device is known.
        measured=read or not any(one.id.startswith(SLOT) for one in devices),
        long=tuple(desk.samples.spell(x.id, long_ago) for x in devices) if old else (),
        input_at=activity.input_at if activity is not None else None,
    )
    found = of_lease(held, desk.alike.of(lease.profile, now), policy.anomalies, now)
    desk.anomalies.looked[lease.id] = Looked(now, found)


def gather(turn: Turn, policy: Policy) -> Facts:
    """Gather everything at one instant."""
    desk, now = turn.desk, turn.now
    leases = turn.tx.leases()
    live = [one for one in leases if one.state in LIVE and one.devices]
    looked = desk.anomalies.looked
    desk.anomalies.looked = {one.id: looked[one.id] for one in live if one.id in looked}
    return Facts(
        now=now,
        leases=live,
        known=[one for found in desk.anomalies.looked.values() for one in found.findings],
        pools=_pools(turn, policy, leases),
        strays=_strays(turn, policy, leases),
        strangers=_strangers(desk, now),
        forgotten=_forgotten(turn, leases),
        silent=tuple(Silence(x.node, x.at) for x in desk.floor.agents(now=now) if x.silent),
    )


def _pools(turn: Turn, policy: Policy, leases: Iterable[OpenLease]) -> tuple[Pool, ...]:
    desk, now = turn.desk, turn.now
    open_ = [one for one in leases if one.holding and one.pool is not None]
    held = {device.id for one in open_ for device in one.takes}
    units = _batch(desk, policy)
    jobs = dict(units)
    for one in open_:
        units[str(one.pool)] += one.units
    if desk.anomalies.watched_since is None:
        _recall(turn, open_, now - policy.anomalies.unallocated)
    desk.anomalies.watch(units, now, policy.anomalies.unallocated)
    serving: dict[str, list[Device]] = defaultdict(list)
    for device in desk.in_service(policy, now=now):
        serving[device.pool].append(device)
    known = _known_since(turn)
    found = []
    for name in policy.pools:
        here = serving[name]
        free = [one for one in here if one.id not in held]
        free_units = sum(map(device_units, free))
        left = max(0, free_units - jobs.get(name, 0))
        price = _price(policy, free, now)
        found.append(
            Pool(
                name=name,
                usable_units=sum(map(device_units, here)),
                held=tuple(desk.anomalies.held.get(name, ())),
                since=known,
                free_units=left,
                free_micro_per_hour=None if price is None else price * left // max(1, free_units),
            )
        )
    return tuple(found)


def _batch(desk: Desk, policy: Policy) -> dict[str, int]:
    """Units of each pool that work beside the servers holds now."""
    units: dict[str, int] = defaultdict(int)
    for one in listed(desk.kueue, policy, single=desk.settings.kube_namespace):
        if one.holds:
            units[one.pool] += one.units
    return units


def _recall(turn: Turn, leases: Iterable[OpenLease], start: datetime) -> None:
    """Read once from the ledger what was held before this process began to look."""
    held = turn.desk.anomalies.held
    for one in leases:
        since = one.assigned_at or one.held_at or one.state_since
        held.setdefault(str(one.pool), []).append(Reach(since, turn.now, one.units))
    for line in turn.tx.postings(start=start, end=turn.now):
        held.setdefault(str(line.pool), []).append(Reach(line.start, line.end, line.units))


def _known_since(turn: Turn) -> datetime:
    """Since when it is known who held what: this ledger's begin, or the first look at Kueue."""
    first = turn.tx.events(limit=1)
    began = first[0][1].at if first else turn.now
    watched = turn.desk.anomalies.watched_since
    return began if turn.desk.kueue is None or watched is None else max(began, watched)


def _price(policy: Policy, devices: Iterable[Device], now: datetime) -> int | None:
    """Price of an hour of devices, each by its own flavor; None where any has none."""
    prices = [price_at(policy, one.pool, one.part or WHOLE_GPU, now) for one in devices]
    known = [one for one in prices if one is not None]
    return sum(known) if prices and len(known) == len(prices) else None


def _strays(turn: Turn, policy: Policy, leases: Iterable[OpenLease]) -> tuple[Stray, ...]:
    desk, now = turn.desk, turn.now
    devices: dict[tuple[str, DeviceId], list[StrayProcess]] = defaultdict(list)
    for node, one in desk.floor.strays(now=now):
        devices[node, one.device].append(one)
    since = desk.anomalies.first_seen((one for _node, one in devices), "stray", now)
    places = {one.driver_id: one for one in desk.floor.devices(policy, now=now)[0]}
    open_ = {one.id: one for one in leases}
    return tuple(
        Stray(
            device=device,
            node=node,
            pids=tuple(sorted(one.pid for one in strays)),
            memory_bytes=_memory(strays),
            since=since[device],
            lease=_whose(turn, strays, open_),
            micro_per_hour=_price(policy, [places[device]], now) if device in places else None,
            pool=places[device].pool if device in places else None,
        )
        for (node, device), strays in sorted(devices.items())
    )


def _memory(strays: Iterable[StrayProcess]) -> int | None:
    known = [one.memory_bytes for one in strays if one.memory_bytes is not None]
    return sum(known) if known else None


def _whose(
    turn: Turn, strays: Iterable[StrayProcess], leases: Mapping[LeaseId, OpenLease]
) -> OpenLease | None:
    """The lease whose mark a process carries, open or closed."""
    for one in strays:
        if one.lease_id is not None:
            lease = leases.get(one.lease_id) or turn.tx.lease(one.lease_id)
            if lease is not None:
                return lease
    return None


def _strangers(desk: Desk, now: datetime) -> tuple[Stranger, ...]:
    keys = {str(key): key for key in desk.strangers}
    since = desk.anomalies.first_seen(keys, "server", now)
    return tuple(
        Stranger(key, since[name], desk.unassigned.get(key, ""))
        for name, key in sorted(keys.items())
    )


def _forgotten(turn: Turn, leases: Iterable[OpenLease]) -> tuple[tuple[OpenLease, datetime], ...]:
    began = {one.lease_id: one.created_at for one in turn.tx.intents() if one.kind == END}
    return tuple(
        (one, began[one.id])
        for one in leases
        if one.id in began and one.state is LeaseState.stopping
    )


def money(desk: Desk, finding: Finding, began: datetime, now: datetime) -> int | None:
    """Say what a finding has stood for since it began; None where any of it has no price."""
    if finding.micro_per_hour is not None:
        return finding.micro_per_hour * int((now - began).total_seconds()) // 3600
    amounts = [between(desk, one, began, now) for one in finding.leases if one.open]
    if not amounts or any(one is None for one in amounts):
        return None
    return sum(one for one in amounts if one is not None)


def between(desk: Desk, lease: OpenLease, start: datetime, end: datetime) -> int | None:
    """What a lease cost in a stretch of time, whoever pays; None where no price is in force."""
    first = lease.assigned_at
    if first is None or lease.pool is None:
        return None
    known = spans(desk, lease, first, end + timedelta(seconds=1))
    until = cost(lease, known, end).so_far_micro
    before = cost(lease, known, max(start, first)).so_far_micro if start > first else 0
    return None if until is None or before is None else until - before
