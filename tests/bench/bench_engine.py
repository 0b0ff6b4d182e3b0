"""How long admission takes in the pure engine and in a decision, without a ledger or HTTP."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from time import process_time

from hub_ext.admission.decide import Request, decide
from hub_ext.admission.engine import (
    CURRENT,
    Cohort,
    Group,
    Preemption,
    Queue,
    Quota,
    State,
    Workload,
    cycle,
    settle,
)
from hub_ext.admission.queue import line
from hub_ext.admission.snapshot import Snapshot
from hub_ext.lease import Device, LeaseState, OpenLease, ServerKey, Standing, UserName
from hub_ext.policy.model import Policy
from tests.bench.table import Row, against
from tests.support.pools import NOON, all_devices, make_lease, make_policy, resolved, team

TEAMS, GPUS, PENDING = 10, 200, 1000
OPEN, PEOPLE = 1000, 5000
GPU = ("pool", "unit")
CYCLE_LIMIT_S, DECISION_LIMIT_S = 0.05, 0.002


def best(act: Callable[[], object], *, rounds: int) -> float:
    """Processor seconds of the best of several calls: others may keep the machine busy."""
    seconds = []
    for _ in range(rounds):
        begin = process_time()
        act()
        seconds.append(process_time() - begin)
    return min(seconds)


def rows() -> Iterator[Row]:
    """Each figure in processor time against its limit."""
    full, half = crowded(held=GPUS), crowded(held=GPUS // 2)
    what = f"{PENDING:,} pending, {GPUS} GPUs, {TEAMS} teams"
    for words, state in (("all held", full), ("half held", half)):
        one = best(partial(cycle, state, CURRENT), rounds=30)
        yield against(f"one cycle, {what}, {words}", one, CYCLE_LIMIT_S, "limit")
        quiet = best(partial(settle, state, CURRENT), rounds=10)
        yield against(f"cycles until quiet, {what}, {words}", quiet, CYCLE_LIMIT_S, "limit")
    for waiting in (0, 200):
        snapshot, request = busy(waiting=waiting)
        took = best(partial(decide, snapshot, request), rounds=100)
        words = f"a decision, {OPEN:,} open leases of which {waiting} wait, {PEOPLE:,} people"
        yield against(words, took, DECISION_LIMIT_S, "limit")
    snapshot, _request = busy(waiting=PENDING)
    took = best(partial(line, snapshot), rounds=10)
    yield against(f"the whole queue page, {PENDING:,} waiting", took, CYCLE_LIMIT_S, "limit")


def crowded(*, held: int) -> State:
    """Ten teams of twenty GPUs each, whose owners and borrowers ask for a hundred each."""
    queues = tuple(
        Queue(
            f"team-{n}",
            "pool",
            (Group(("unit",), ("pool",)),),
            {GPU: Quota(GPUS // TEAMS, 10)},
            Preemption(reclaim="LowerPriority"),
        )
        for n in range(TEAMS)
    )
    holding = [
        Workload(
            f"held-{n}",
            f"team-{n % TEAMS}",
            2000 + n % 7,
            n,
            f"held-{n:04d}",
            usage={GPU: 1},
            reserved_at=n,
        )
        for n in range(held)
    ]
    waiting = [
        Workload(
            f"waits-{n}",
            f"team-{n % TEAMS}",
            1000 + n % 13,
            n,
            f"waits-{n:04d}",
            requests={"unit": 1 + n % 4},
        )
        for n in range(PENDING)
    ]
    return State((Cohort("pool"),), queues, (*holding, *waiting))


def busy(*, waiting: int) -> tuple[Snapshot, Request]:
    """A site of 1,000 open leases; so many of them wait, as nothing is free. Somebody else asks."""
    policy = large_policy()
    devices = all_devices(policy)
    running = OPEN - waiting if waiting < OPEN else OPEN
    whole = [device for device in devices if device.pool == "whole"]
    leases = [_lease(policy, n, (whole[n],)) for n in range(running)]
    leases += [_lease(policy, running + n, ()) for n in range(waiting)]
    at = NOON + timedelta(hours=1)
    found = tuple(whole[:running] if waiting else whole)
    snapshot = Snapshot(policy=policy, generation=1, at=at, leases=tuple(leases), devices=found)
    asked = Request(
        key=ServerKey(user=UserName(f"user-{PEOPLE - 1:04d}")),
        resolved=resolved(policy, f"user-{PEOPLE - 1:04d}", f"team-{PEOPLE % TEAMS}", "one", at),
        requested_at=at,
    )
    return snapshot, asked


def large_policy() -> Policy:
    """Ten teams that share a pool of as many GPUs as there may be leases."""
    quota = {"whole": {"nominal": str(OPEN // TEAMS), "borrowing_limit": "50"}}
    teams = {f"team-{n}": team(quota, name=f"team-{n}") for n in range(TEAMS)}
    nodes = [{"name": f"node-{n:03d}", "gpus": 8} for n in range(OPEN // 8 + 1)]
    cut = {"name": "node-cut", "gpus": 1, "geometry": [["3g.71gb", "3g.71gb"]]}
    pools = {
        "whole": {"model": "h200-141gb", "nodes": nodes},
        "cut": {"model": "h200-141gb", "nodes": [cut]},
    }
    return make_policy(teams, pools=pools)


def _lease(policy: Policy, n: int, devices: tuple[Device, ...]) -> OpenLease:
    at = NOON + timedelta(seconds=n)
    user, name = f"user-{n:04d}", f"team-{n % TEAMS}"
    asked = Request(
        key=ServerKey(user=UserName(user)),
        resolved=resolved(policy, user, name, "one", at),
        requested_at=at,
    )
    if devices:
        return make_lease(asked, devices=devices)
    queued = LeaseState.queued
    return make_lease(asked, state=queued, standing=Standing.would_queue, ends_at=None)
