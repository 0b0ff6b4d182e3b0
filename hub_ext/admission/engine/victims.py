"""Which admitted workloads have to end so that one request fits: candidates, attempts, the rest.

Nothing is decided here on whether they should; the tally is left as it was found.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from .order import Key, may_be_preempted_within, of_victims
from .tally import Tally
from .values import Pair, Queue, Reason, Workload

Kind = Literal["own", "hierarchical", "while-borrowing", "without-borrowing"]

REASONS: Mapping[Kind, Reason] = {
    "own": "InClusterQueue",
    "hierarchical": "InCohortReclamation",
    "while-borrowing": "InCohortReclaimWhileBorrowing",
    "without-borrowing": "InCohortReclamation",
}


@dataclass(frozen=True, slots=True)
class Want:
    """A request on the flavors chosen for it; `contested` are those that are not free."""

    workload: Workload
    request: Mapping[Pair, int]
    contested: frozenset[Pair]


@dataclass(frozen=True, slots=True)
class Target:
    """One candidate. `above` are the nodes that must stay above quota for it to be taken."""

    workload: Workload
    kind: Kind
    above: tuple[str, ...] = ()

    @property
    def reason(self) -> Reason:
        """Kueue's word for this preemption."""
        return REASONS[self.kind]

    @property
    def key(self) -> Key:
        """Its place among the candidates of its list."""
        return of_victims(self.workload, own=self.kind == "own")


def find(tally: Tally, want: Want) -> list[Target]:
    """Give the victims of the first attempt that makes room; none where no attempt does."""
    queue = tally.queues[want.workload.queue]
    if _none_is_lower(tally, want, queue):
        return []
    lists = _candidates(tally, want, queue)
    if not any(lists):
        return []
    ordered = [one for part in lists for one in part if one.workload.evicted]
    ordered += [one for part in lists for one in part if not one.workload.evicted]
    for borrowing in _attempts(tally, want, queue, lists):
        found = _attempt(tally, want, ordered, borrowing=borrowing)
        if found:
            return found
    return []


def _none_is_lower(tally: Tally, want: Want, queue: Queue) -> bool:
    """Whether no candidate can be, at a glance: most who wait stand below all that run."""
    rules = queue.preemption
    if rules.reclaim == "Any" or rules.within == "LowerOrNewerEqualPriority":
        return False
    lowest = tally.lowest
    return lowest is None or lowest >= want.workload.priority


Lists = tuple[list[Target], list[Target], list[Target]]
"""With hierarchical advantage, with priority only, of the own queue; each in order."""


def _candidates(tally: Tally, want: Want, queue: Queue) -> Lists:
    own = [
        Target(workload, "own")
        for workload in tally.admitted[queue.name].values()
        if may_be_preempted_within(workload, want.workload, queue.preemption.within)
        and _uses(workload, want.contested)
    ]
    hierarchical: list[Target] = []
    by_priority: list[Target] = []
    if queue.preemption.reclaim != "Never":
        for advantage, target in _elsewhere(tally, want, queue):
            (hierarchical if advantage else by_priority).append(target)
    key = attrgetter("key")
    return sorted(hierarchical, key=key), sorted(by_priority, key=key), sorted(own, key=key)


def _elsewhere(tally: Tally, want: Want, queue: Queue) -> Iterator[tuple[bool, Target]]:
    """Walk up from the queue's parent, and down into each new subtree that is above quota."""
    path = tally.path[queue.name]
    rest = dict(want.request)
    advantage = _covered(tally, queue.name, rest)
    for below, at in pairwise(path):
        for name, above in _borrowers(tally, at, below, want.contested):
            for workload in tally.admitted[name].values():
                kind = _kind(workload, want, queue, advantage=advantage)
                if kind is not None:
                    yield advantage, Target(workload, kind, above)
        advantage = _covered(tally, at, rest) or advantage


def _covered(tally: Tally, node: str, rest: dict[Pair, int]) -> bool:
    """Whether a node's own quota covers what is left; takes its unused local part off it."""
    covers = True
    for pair, units in rest.items():
        quotas = tally.quotas[pair]
        covers = covers and quotas.used(node) + units <= quotas.shape.whole[node]
        rest[pair] = units - max(0, quotas.shape.kept[node] - quotas.used(node))
    return covers


def _borrowers(
    tally: Tally, cohort: str, without: str, contested: frozenset[Pair]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Queues below a cohort that are above quota, as all between; with the nodes of that way."""
    open_nodes: list[tuple[str, tuple[str, ...]]] = [
        (name, (name,)) for name in tally.members[cohort] if name != without
    ]
    while open_nodes:
        name, way = open_nodes.pop()
        if not tally.above_quota(name, contested):
            continue
        if name in tally.queues:
            yield name, way
        else:
            open_nodes += [(member, (*way, member)) for member in tally.members[name]]


def _kind(workload: Workload, want: Want, queue: Queue, *, advantage: bool) -> Kind | None:
    """How a workload of another queue may be taken, if at all."""
    rules, lower = queue.preemption, workload.priority < want.workload.priority
    if not (lower or rules.reclaim == "Any") or not _uses(workload, want.contested):
        return None
    if advantage:
        return "hierarchical"
    below = rules.threshold is None or workload.priority <= rules.threshold
    if rules.borrow == "LowerPriority" and lower and below:
        return "while-borrowing"
    return "without-borrowing"


def _uses(workload: Workload, pairs: frozenset[Pair]) -> bool:
    return any((workload.usage or {}).get(pair, 0) > 0 for pair in pairs)


def _attempts(tally: Tally, want: Want, queue: Queue, lists: Lists) -> tuple[bool, ...]:
    """Whether to borrow, in the order in which it is tried."""
    hierarchical, by_priority, _own = lists
    never = queue.preemption.borrow == "Never"
    below = all(
        tally.used(queue.name, pair) < tally.nominal(queue.name, pair) for pair in want.contested
    )
    if not (hierarchical or by_priority) or (never and not below):
        return (True,)
    return (False, True) if never and not hierarchical else (True, False)


def _attempt(
    tally: Tally, want: Want, ordered: Iterable[Target], *, borrowing: bool
) -> list[Target]:
    """Take candidates until the request fits, then give back those that were not needed."""
    taken: list[Target] = []
    enough = False
    for one in ordered:
        if borrowing and one.kind == "without-borrowing":
            continue
        if not all(tally.above_quota(node, want.contested) for node in one.above):
            continue
        tally.without((one.workload,))
        taken.append(one)
        if _fits(tally, want, borrowing=borrowing):
            enough = True
            break
    if enough:
        _give_back(tally, want, taken, borrowing=borrowing)
    tally.restore(one.workload for one in taken)
    return taken if enough else []


def _give_back(tally: Tally, want: Want, taken: list[Target], *, borrowing: bool) -> None:
    for at in range(len(taken) - 2, -1, -1):
        one = taken[at]
        tally.restore((one.workload,))
        if _fits(tally, want, borrowing=borrowing):
            taken[at] = taken[-1]
            taken.pop()
        else:
            tally.without((one.workload,))


def _fits(tally: Tally, want: Want, *, borrowing: bool) -> bool:
    queue = want.workload.queue
    return tally.fits(queue, want.request) and (borrowing or tally.inside(queue, want.request))
