"""What is used where, on a working copy of one state: the only part of the engine that changes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..quota import Node, Quotas, available, count, level, potential, shape_of
from .values import Pair, Queue, Quota, State, Workload

NOTHING = Quota(0)


def cohort_key(name: str) -> str:
    """Node of a cohort; a queue's node is its name, and both may be called the same."""
    return f"^{name}"


class Tally:
    """Quota trees of one state, one for each flavor and resource, with what is charged to them."""

    def __init__(self, state: State) -> None:
        self.queues: dict[str, Queue] = {queue.name: queue for queue in state.queues}
        self.admitted: dict[str, dict[str, Workload]] = {name: {} for name in self.queues}
        self._usage: dict[Pair, dict[str, int]] = {}
        self.quotas: dict[Pair, Quotas] = {
            pair: self._tree(state, pair) for pair in sorted(_pairs(state))
        }
        bare = _nodes(state, ("", ""))
        self.path = shape_of(bare).path
        self.members: dict[str, list[str]] = {name: [] for name in bare}
        for name, node in bare.items():
            if node.parent is not None:
                self.members[node.parent].append(name)
        self.lowest: int | None = None
        self._most: dict[tuple[Pair, str], int] = {}
        for workload in state.workloads:
            if workload.usage is not None and workload.queue in self.queues:
                self._keep(workload, workload.usage)

    def _tree(self, state: State, pair: Pair) -> Quotas:
        usage = self._usage[pair] = {}
        return Quotas(_nodes(state, pair), usage)

    def add(self, queue: str, usage: Mapping[Pair, int], *, sign: int = 1) -> None:
        """Charge usage to a queue; sign -1 takes it back."""
        for pair, units in usage.items():
            if pair in self.quotas:
                count(self.quotas[pair], self._usage[pair], queue, sign * units)

    def without(self, workloads: Iterable[Workload]) -> None:
        """Take back what workloads hold, to see how it would be without them."""
        for workload in workloads:
            self.add(workload.queue, workload.usage or {}, sign=-1)

    def restore(self, workloads: Iterable[Workload]) -> None:
        """Undo `without`."""
        for workload in workloads:
            self.add(workload.queue, workload.usage or {})

    def admit(self, workload: Workload, usage: Mapping[Pair, int], reserved_at: int) -> Workload:
        """Charge a workload and keep it among the admitted."""
        admitted = replace(workload, usage=usage, reserved_at=reserved_at, evicted=False)
        self._keep(admitted, usage)
        return admitted

    def _keep(self, workload: Workload, usage: Mapping[Pair, int]) -> None:
        self.admitted[workload.queue][workload.id] = workload
        if self.lowest is None or workload.priority < self.lowest:
            self.lowest = workload.priority
        self.add(workload.queue, usage)

    def used(self, queue: str, pair: Pair) -> int:
        """Units charged to a queue."""
        return self.quotas[pair].used(queue)

    def nominal(self, queue: str, pair: Pair) -> int:
        """Nominal quota of a queue."""
        return self.quotas[pair].nodes[queue].nominal

    def available(self, queue: str, pair: Pair) -> int:
        """What a queue can still take."""
        return available(self.quotas[pair], queue)

    def potential(self, queue: str, pair: Pair) -> int:
        """The most a queue could ever take at once."""
        known = self._most.get((pair, queue))
        if known is None:
            known = self._most[pair, queue] = potential(self.quotas[pair], queue)
        return known

    def level(self, queue: str, pair: Pair, units: int) -> int:
        """How far up a request reaches."""
        return level(self.quotas[pair], queue, units)

    def fits(self, queue: str, request: Mapping[Pair, int]) -> bool:
        """Whether all of a request is available."""
        return all(units <= self.available(queue, pair) for pair, units in request.items())

    def inside(self, queue: str, request: Mapping[Pair, int]) -> bool:
        """Whether all of a request lies inside the queue's nominal quota."""
        return all(
            self.used(queue, pair) + units <= self.nominal(queue, pair)
            for pair, units in request.items()
        )

    def above_quota(self, node: str, pairs: Iterable[Pair]) -> bool:
        """Whether a node uses more than its own quota in any of these pairs."""
        return any(
            self.quotas[pair].used(node) > self.quotas[pair].shape.whole[node] for pair in pairs
        )


def _pairs(state: State) -> set[Pair]:
    queues = (pair for queue in state.queues for pair in queue.quotas)
    cohorts = (pair for cohort in state.cohorts for pair in cohort.quotas)
    held = (pair for workload in state.workloads for pair in workload.usage or ())
    return {*queues, *cohorts, *held}


def _nodes(state: State, pair: Pair) -> dict[str, Node]:
    """Nodes of one tree; a cohort that is only named is a root without quota."""
    nodes: dict[str, Node] = {}
    for cohort in state.cohorts:
        parent = None if cohort.parent is None else cohort_key(cohort.parent)
        nodes[cohort_key(cohort.name)] = _node(cohort.quotas.get(pair, NOTHING), parent)
    for queue in state.queues:
        parent = None if queue.cohort is None else cohort_key(queue.cohort)
        nodes[queue.name] = _node(queue.quotas.get(pair, NOTHING), parent)
    named = {node.parent for node in nodes.values() if node.parent is not None}
    for missing in sorted(named - set(nodes)):
        nodes[missing] = Node(0)
    return nodes


def _node(quota: Quota, parent: str | None) -> Node:
    if parent is None:
        return Node(quota.nominal)
    return Node(quota.nominal, parent, quota.borrowing_limit, quota.lending_limit)
