"""Single cycles: what is said of each request, and where releases differ."""

from dataclasses import replace

import pytest

from hub_ext.admission.engine import (
    Cohort,
    Group,
    Preemption,
    Queue,
    Quota,
    Rules,
    State,
    Workload,
    cycle,
    targets,
)
from hub_ext.admission.engine.flavors import Assignment
from hub_ext.admission.engine.values import Release

GPU = ("h200", "gpu")


def queue(name: str, nominal: int, *, reclaim: bool = True, active: bool = True) -> Queue:
    rules = Preemption(reclaim="Any" if reclaim else "Never")
    groups = (Group(("gpu",), ("h200",)),)
    return Queue(name, "pool", groups, {GPU: Quota(nominal)}, rules, active=active)


def holds(name: str, where: str, priority: int = 0, at: int = 0) -> Workload:
    return Workload(name, where, priority, at, name, {"gpu": 1}, usage={GPU: 1}, reserved_at=at)


def waits(name: str, where: str, units: int = 1, priority: int = 0, at: int = 9) -> Workload:
    return Workload(name, where, priority, at, name, {"gpu": units})


def state(*parts: Queue | Workload) -> State:
    queues = tuple(one for one in parts if isinstance(one, Queue))
    workloads = tuple(one for one in parts if isinstance(one, Workload))
    return State((Cohort("pool"),), queues, workloads)


@pytest.mark.parametrize(("release", "taken"), [("0.17", 1), ("0.19", 1), ("0.20", 2)])
def test_two_heads_want_the_same_victim(release: Release, taken: int) -> None:
    """Until 0.19 the second waits for the next cycle; since 0.20 it looks for another at once."""
    full = state(
        queue("a", 1),
        queue("b", 1),
        queue("c", 0),
        *(holds(f"borrowed-{n}", "c", at=n) for n in range(2)),
        waits("first", "a", at=5),
        waits("second", "b", at=6),
    )
    done = cycle(full, Rules(release))
    assert [one.for_id for one in done.victims] == ["first", "second"][:taken]
    assert len({one.id for one in done.victims}) == taken


def test_each_request_is_told_why_with_figures() -> None:
    full = state(
        queue("a", 2, reclaim=False),
        queue("b", 1, reclaim=False),
        queue("off", 1, active=False),
        holds("a-1", "a"),
        holds("a-2", "a"),
        holds("b-1", "b"),
        holds("b-2", "b"),
        waits("short", "a", units=2, at=1),
        waits("behind", "a", at=2),
        waits("never", "b", units=9),
        waits("stopped", "off"),
    )
    why = cycle(full).pending
    assert why["short"].code == "WaitingForQuota"
    assert why["short"].message == "insufficient unused quota for gpu in flavor h200, 2 more needed"
    assert why["short"].figures["short"] == 2
    assert why["behind"].message == "1 workload(s) of the queue come first"
    assert why["never"].code == "ExceedsMaxQuota"
    assert "request > maximum capacity (9 > 4)" in why["never"].message
    assert why["stopped"].message == "ClusterQueue off is inactive"


def test_what_no_flavor_serves_is_told_too() -> None:
    free = state(queue("a", 2), replace(waits("choosy", "a"), flavors=frozenset({"l4"})))
    assert cycle(free).pending["choosy"].code == "NoMatchingFlavor"
    odd = state(queue("a", 2), replace(waits("odd", "a"), requests={"tpu": 1}))
    assert cycle(odd).pending["odd"].code == "Misconfigured"


def test_a_place_is_asked_for_after_quota_and_a_refused_one_is_parked() -> None:
    free = state(queue("a", 2), waits("first", "a", at=1), waits("second", "a", at=2))

    def no_place(workload: Workload, found: Assignment) -> bool:
        return workload.id != "first" or not found.request

    done = cycle(free, fits=no_place)
    assert done.admitted == ()
    assert done.parked == {"first"}
    assert done.pending["first"].message == "quota is free, but no place for it"


def test_targets_are_none_where_no_set_makes_room_and_empty_where_it_fits() -> None:
    full = state(queue("a", 1, reclaim=False), holds("a-1", "a"), waits("more", "a"))
    assert targets(full, "more") is None
    assert targets(state(queue("a", 1), waits("more", "a")), "more") == ()


def test_a_tree_that_bites_its_tail_is_refused() -> None:
    rings = (Cohort("one", "two"), Cohort("two", "one"))
    with pytest.raises(ValueError, match="lies above itself"):
        cycle(State(rings, (), ()))
