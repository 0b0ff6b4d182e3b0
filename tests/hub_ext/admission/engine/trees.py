"""Random trees, settings and loads for the engine's laws; small, so that each example is quick."""

from dataclasses import replace

from hypothesis import strategies as st

from hub_ext.admission.engine import (
    Cohort,
    Fungibility,
    Group,
    Pair,
    Preemption,
    Queue,
    Quota,
    State,
    Workload,
)
from hub_ext.admission.engine.values import Borrow, Preference, Reclaim

FLAVORS = ("on", "spot")
RESOURCES = ("gpu", "memory")
PAIRS: tuple[Pair, ...] = tuple((flavor, resource) for flavor in FLAVORS for resource in RESOURCES)
RECLAIM: tuple[Reclaim, ...] = ("Any", "LowerPriority", "Never")
BORROW: tuple[Borrow, ...] = ("LowerPriority", "Never")
PREFERENCES: tuple[Preference, ...] = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
limits = st.none() | st.integers(0, 4)


@st.composite
def states(draw: st.DrawFn, *, admitted: bool = True, most: int = 10) -> State:
    """Two levels of cohorts at most, queues with any settings, and workloads that hold or wait."""
    cohorts = [Cohort("root", None, draw(quotas()))]
    cohorts += [Cohort(name, "root", draw(quotas())) for name in draw(names("left", "right"))]
    homes = st.sampled_from([one.name for one in cohorts] * 3 + [None])
    queues = [draw(a_queue(name, draw(homes))) for name in draw(names("a", "b", "c"))]
    count = draw(st.integers(min(4, most), most)) if queues else 0
    workloads = [draw(a_workload(n, queues, admitted=admitted)) for n in range(count)]
    return State(tuple(cohorts), tuple(queues), tuple(workloads))


def names(*known: str) -> st.SearchStrategy[list[str]]:
    """The first of the names, at least one."""
    return st.integers(1, len(known)).map(lambda n: list(known[:n]))


def quotas() -> st.SearchStrategy[dict[Pair, Quota]]:
    """Quota of some of the pairs."""
    return st.dictionaries(st.sampled_from(PAIRS), st.builds(Quota, st.integers(0, 4)), max_size=2)


@st.composite
def a_queue(draw: st.DrawFn, name: str, cohort: str | None) -> Queue:
    """One queue whose flavors are tried in one group."""
    reclaim: Reclaim = "Never"
    borrow: Borrow = "Never"
    if cohort is not None:
        reclaim = draw(st.sampled_from(RECLAIM))
    if reclaim != "Never":
        borrow = draw(st.sampled_from(BORROW))
    eager = draw(st.booleans())
    preference = st.sampled_from(PREFERENCES)
    return Queue(
        name,
        cohort,
        (Group(RESOURCES, FLAVORS),),
        {
            pair: Quota(draw(st.integers(0, 4)), draw(limits), draw(limits))
            for pair in PAIRS
            if pair[0] == "on" or draw(st.booleans())
        },
        Preemption(
            within=draw(st.sampled_from(["LowerOrNewerEqualPriority", "LowerPriority", "Never"])),
            reclaim=reclaim,
            borrow=borrow,
            threshold=draw(st.none() | st.integers(0, 2)),
        ),
        Fungibility("TryNextFlavor", "TryNextFlavor", draw(preference)) if eager else Fungibility(),
        draw(st.sampled_from(["BestEffortFIFO", "StrictFIFO"])),
    )


@st.composite
def a_workload(draw: st.DrawFn, n: int, queues: list[Queue], *, admitted: bool) -> Workload:
    """One request of one or two resources; perhaps it holds something already."""
    queue = draw(st.sampled_from(queues))
    requests = {"gpu": draw(st.integers(1, 3))}
    if draw(st.integers(0, 3)) == 0:
        requests["memory"] = draw(st.integers(1, 3))
    waits = Workload(
        f"w{n}",
        queue.name,
        draw(st.integers(0, 3)),
        queued_at=draw(st.integers(0, 3)),
        uid=n,
        requests=requests,
    )
    if not admitted or draw(st.booleans()):
        return waits
    flavor = "spot" if draw(st.integers(0, 3)) == 0 else "on"
    return replace(
        waits,
        usage={(flavor, resource): units for resource, units in requests.items()},
        reserved_at=draw(st.integers(0, 3)),
        evicted=draw(st.integers(0, 5)) == 0,
    )
