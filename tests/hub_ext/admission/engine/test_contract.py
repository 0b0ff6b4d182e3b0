"""What a running Kueue did with leases, on the embedded engine; and what our numbers make of it.

Bands: running 2000 to 2999, waiting 1000 to 1999, called in 0 to 999. Queues reclaim from lower
numbers and never preempt inside themselves.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from hub_ext.admission.engine import (
    CURRENT,
    Cohort,
    Cycle,
    Group,
    Pair,
    Preemption,
    Queue,
    Quota,
    State,
    Workload,
    settle,
)
from hub_ext.admission.engine.values import Within
from hub_ext.admission.priority import Ranking, started, weigh

GPU: Pair = ("h200", "unit")
RUNNING, WAITING, CALLED_IN = 2000, 1000, 0


def queue(name: str, nominal: int, within: Within = "Never", cohort: str = "pool") -> Queue:
    groups = (Group(("unit",), ("h200",)),)
    rules = Preemption(within=within, reclaim="LowerPriority")
    return Queue(name, cohort, groups, {GPU: Quota(nominal)}, rules)


class Pool:
    """A pool of queues in which leases start, wait, are called in and end."""

    def __init__(self, *queues: Queue, cohorts: Iterable[Cohort] = (Cohort("pool"),)) -> None:
        self.state = State(tuple(cohorts), queues)
        self.clock = 0

    def runs(self, name: str, queue_name: str, number: int, units: int = 1) -> None:
        """A lease that holds its units already."""
        self.clock += 1
        new = Workload(
            name,
            queue_name,
            number,
            self.clock,
            name,
            {"unit": units},
            usage={GPU: units},
            reserved_at=self.clock,
        )
        self.state = replace(self.state, workloads=(*self.state.workloads, new))

    def asks(self, name: str, queue_name: str, number: int, units: int = 1) -> Cycle:
        """A request comes; everything settles."""
        self.clock += 1
        new = Workload(name, queue_name, number, self.clock, name, {"unit": units})
        self.state = replace(self.state, workloads=(*self.state.workloads, new))
        return self.settles()

    def changes(self, name: str, **what: object) -> None:
        """Something of a lease is patched; nobody wakes for it."""
        self.state = replace(
            self.state,
            workloads=tuple(
                replace(one, **what) if one.id == name else one  # type: ignore[arg-type]
                for one in self.state.workloads
            ),
        )

    def touches(self, name: str, number: int) -> Cycle:
        """The number of a pending one is patched, and so it is tried again."""
        self.changes(name, priority=number)
        self.state = replace(self.state, parked=self.state.parked - {name})
        return self.settles()

    def ends(self, name: str) -> Cycle:
        """A lease or request is deleted: who is in flight is tried, then all that were parked."""
        left = tuple(one for one in self.state.workloads if one.id != name)
        kept = {q: n for q, n in self.state.preemptors.items() if n != name}
        self.state = replace(self.state, workloads=left, preemptors=kept)
        first = self.settles()
        self.state = replace(self.state, parked=frozenset())
        then = self.settles()
        return replace(then, admitted=first.admitted + then.admitted)

    def settles(self) -> Cycle:
        self.state, done = settle(self.state, CURRENT, now=self.clock)
        return done

    def lowered(self, name: str, nominal: int) -> None:
        """A queue's nominal quota is cut."""
        self.state = replace(
            self.state,
            queues=tuple(
                replace(one, quotas={GPU: Quota(nominal)}) if one.name == name else one
                for one in self.state.queues
            ),
        )


def victims(done: Cycle) -> set[str]:
    return {one.id for one in done.victims}


def admitted(done: Cycle) -> list[str]:
    return [one.id for one in done.admitted]


def k1(guaranteed: int, borrowed: int) -> Pool:
    pool = Pool(queue("a", 4), queue("b", 2))
    for n in range(4):
        pool.runs(f"guaranteed-{n}", "a", guaranteed)
    for n in range(2):
        pool.runs(f"borrowed-{n}", "a", borrowed)
    return pool


def test_k1_kueue_does_not_know_which_lease_is_the_borrowed_one() -> None:
    unsafe = k1(guaranteed=1100, borrowed=2100)
    assert victims(unsafe.asks("owner", "b", 1600)) == {"guaranteed-3"}


def test_k1_with_bands_exactly_what_was_called_in_is_taken() -> None:
    pool = k1(guaranteed=RUNNING + 100, borrowed=RUNNING + 100)
    assert victims(pool.asks("owner", "b", WAITING + 999)) == set()
    pool.changes("borrowed-0", priority=CALLED_IN + 100)
    assert victims(pool.touches("owner", WAITING + 998)) == {"borrowed-0"}
    assert admitted(pool.ends("borrowed-0")) == ["owner"]


def test_k2_newcomers_borrow_past_a_parked_owner() -> None:
    pool = Pool(queue("b", 4), queue("a", 0), queue("c", 0))
    for n in range(3):
        pool.runs(f"borrower-{n}", "a", RUNNING)
    assert admitted(pool.asks("owner", "b", WAITING, units=4)) == []
    for generation in range(4):
        assert admitted(pool.asks(f"new-{generation}", "c", WAITING)) == [f"new-{generation}"]
        pool.ends(f"borrower-{generation}" if generation < 3 else "new-0")
    assert "owner" in {one.id for one in pool.state.workloads if one.usage is None}


def test_k3_a_victim_stays_evicted_when_its_preemptor_goes_until_that_is_taken_back() -> None:
    pool = k1(guaranteed=RUNNING, borrowed=CALLED_IN)
    assert victims(pool.asks("owner", "b", WAITING)) == {"borrowed-1"}
    pool.ends("owner")
    held = {one.id: one for one in pool.state.workloads}["borrowed-1"]
    assert held.evicted
    assert held.usage == {GPU: 1}
    pool.changes("borrowed-1", evicted=False, priority=RUNNING)
    assert victims(pool.asks("another", "b", WAITING)) == {"borrowed-0"}


@pytest.mark.parametrize(("within", "taken"), [("LowerPriority", {"mate-3"}), ("Never", set())])
def test_k5_a_mate_who_would_borrow_takes_a_mates_lease_unless_that_is_off(
    within: Within, taken: set[str]
) -> None:
    pool = Pool(queue("a", 2, within), queue("b", 2))
    for n in range(4):
        pool.runs(f"mate-{n}", "a", 500)
    assert victims(pool.asks("high", "a", WAITING + 900)) == taken


def test_k6_a_lowered_quota_costs_a_guaranteed_lease_only_without_bands() -> None:
    for number, taken in ((1100, {"lease-3"}), (RUNNING + 100, set())):
        pool = Pool(queue("a", 4), queue("b", 2))
        for n in range(4):
            pool.runs(f"lease-{n}", "a", number)
        pool.runs("other", "b", RUNNING)
        pool.lowered("a", 3)
        assert victims(pool.asks("asks", "b", 1600)) == taken


def test_k11_a_weight_below_0_would_fall_among_what_was_called_in() -> None:
    pool = Pool(queue("a", 1), queue("b", 1))
    pool.runs("own", "a", started(500))
    pool.runs("called-in", "a", 999)
    assert victims(pool.asks("owner", "b", 970)) == set()
    rules = Ranking(per_hour=0, most_ageing=0, per_gpu_hour=30, most_recent=30)
    number = weigh(rules, task=0, waited=timedelta(0), recent_s=36_000).number
    assert number == WAITING
    assert victims(pool.touches("owner", number)) == {"called-in"}


def test_k14_a_project_without_quota_reclaims_inside_its_teams() -> None:
    cohorts = (
        Cohort("pool"),
        Cohort("owners", "pool", {GPU: Quota(2)}),
        Cohort("others", "pool", {GPU: Quota(2)}),
    )
    pool = Pool(
        queue("project", 0, cohort="owners"),
        queue("borrowers", 0, cohort="others"),
        cohorts=cohorts,
    )
    for n in range(4):
        pool.runs(f"lease-{n}", "borrowers", RUNNING)
    assert victims(pool.asks("owner", "project", WAITING)) == set()
    pool.changes("lease-1", priority=CALLED_IN)
    assert victims(pool.touches("owner", WAITING + 1)) == {"lease-1"}
    assert admitted(pool.ends("lease-1")) == ["owner"]


def test_w_a_patched_victim_wakes_no_owner_but_the_owners_own_number_does() -> None:
    pool = k1(guaranteed=RUNNING, borrowed=RUNNING)
    pool.asks("owner", "b", WAITING)
    pool.changes("borrowed-1", priority=CALLED_IN)
    assert victims(pool.settles()) == set()
    assert victims(pool.touches("owner", WAITING + 1)) == {"borrowed-1"}
