"""Which flavors a request would take, and how: free, after a preemption, or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from ..quota import may_preempt
from .tally import Tally
from .values import Group, Pair, Queue, Rules, Workload
from .victims import Target, Want, find


class Mode(IntEnum):
    """How a request stands to a flavor, the worst first."""

    no_fit = 0
    no_candidates = 1
    preempt = 2
    reclaim = 3
    fit = 4


@dataclass(frozen=True, slots=True)
class Grade:
    """Mode, and the level from which is borrowed."""

    mode: Mode
    level: int = 0


FREE = Grade(Mode.fit)
"""Better than any other."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why one resource is not free in one flavor; units missing of what is unused, or at most."""

    pair: Pair
    units: int
    most: int
    available: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """Flavors for a whole request, with the worst mode and the highest level among them."""

    mode: Mode
    level: int = 0
    flavors: Mapping[str, str] = field(default_factory=dict)
    request: Mapping[Pair, int] = field(default_factory=dict)
    contested: frozenset[Pair] = frozenset()
    targets: tuple[Target, ...] | None = None
    """Victims of the whole request where it is of one resource; None where they are not known."""
    shortfalls: tuple[Shortfall, ...] = ()
    uncovered: str | None = None


@dataclass(frozen=True, slots=True)
class _Tried:
    """One flavor for one group."""

    worst: Grade
    grades: Mapping[Pair, Grade]


def assign(tally: Tally, workload: Workload, rules: Rules) -> Assignment:
    """Choose flavors for a request, group by group."""
    queue = tally.queues[workload.queue]
    covered = {resource for group in queue.groups for resource in group.resources}
    for resource in workload.requests:
        if resource not in covered:
            return Assignment(Mode.no_fit, uncovered=resource)
    search = _Search(tally, workload, queue, rules)
    grades: dict[Pair, Grade] = {}
    for group in queue.groups:
        if any(name in workload.requests for name in group.resources):
            best = search.best(group)
            if best is None:
                return Assignment(Mode.no_fit, shortfalls=tuple(search.shortfalls))
            grades |= best.grades
    return Assignment(
        mode=min((grade.mode for grade in grades.values()), default=Mode.fit),
        level=max((grade.level for grade in grades.values()), default=0),
        flavors={resource: flavor for flavor, resource in grades},
        request={pair: workload.requests[pair[1]] for pair in grades},
        contested=frozenset(pair for pair, grade in grades.items() if grade.mode < Mode.fit),
        targets=search.targets.get(next(iter(grades))) if len(grades) == 1 else None,
        shortfalls=tuple(search.shortfalls),
    )


class _Search:
    """The search of one request's flavors, with what was missing on the way."""

    def __init__(self, tally: Tally, workload: Workload, queue: Queue, rules: Rules) -> None:
        self.tally, self.workload, self.queue, self.rules = tally, workload, queue, rules
        self.shortfalls: list[Shortfall] = []
        self.targets: dict[Pair, tuple[Target, ...]] = {}

    def best(self, group: Group) -> _Tried | None:
        """Try the flavors of a group in their order, and stop at the first good enough."""
        best: _Tried | None = None
        allowed = self.workload.flavors
        for flavor in group.flavors:
            if allowed is not None and flavor not in allowed:
                continue
            tried = self._try(group, flavor)
            if tried.worst.mode is Mode.no_fit:
                continue
            if _stops(self.queue, tried.worst):
                return tried
            if best is None or self._better(tried.worst, best.worst):
                best = tried
        return best

    def _better(self, one: Grade, other: Grade) -> bool:
        return _rank(self.queue, self.rules, one) > _rank(self.queue, self.rules, other)

    def _try(self, group: Group, flavor: str) -> _Tried:
        grades: dict[Pair, Grade] = {}
        worst = FREE
        for resource in group.resources:
            if resource not in self.workload.requests:
                continue
            grade = grades[flavor, resource] = self._grade((flavor, resource))
            if self._better(worst, grade):
                worst = grade
            if worst.mode is Mode.no_fit:
                break
        return _Tried(worst, grades)

    def _grade(self, pair: Pair) -> Grade:
        tally, name, units = self.tally, self.queue.name, self.workload.requests[pair[1]]
        if pair not in self.queue.quotas:
            self.shortfalls.append(Shortfall(pair, units, 0, 0))
            return Grade(Mode.no_fit)
        most, free = tally.potential(name, pair), tally.available(name, pair)
        if units <= min(most, free):
            return Grade(Mode.fit, tally.level(name, pair, units))
        self.shortfalls.append(Shortfall(pair, units, most, free))
        if units <= most and self._may_preempt(pair, units):
            return self._simulated(pair, units)
        return Grade(Mode.no_fit)

    def _may_preempt(self, pair: Pair, units: int) -> bool:
        """Whether a preemption is looked at at all: a queue with nominal 0 has no such right."""
        if self.queue.preemption.borrow != "Never":
            return True
        return may_preempt(self.tally.quotas[pair], self.queue.name, units)

    def _simulated(self, pair: Pair, units: int) -> Grade:
        """Ask whether a preemption for this resource alone would help, and whose."""
        tally, name = self.tally, self.queue.name
        found = find(tally, Want(self.workload, {pair: units}, frozenset((pair,))))
        self.targets[pair] = tuple(found)
        if not found:
            return Grade(Mode.no_candidates, tally.level(name, pair, units))
        tally.without(one.workload for one in found)
        level = tally.level(name, pair, units)
        tally.restore(one.workload for one in found)
        own = any(one.kind == "own" for one in found)
        return Grade(Mode.preempt if own else Mode.reclaim, level)


def _stops(queue: Queue, grade: Grade) -> bool:
    """Whether no further flavor is tried."""
    rules = queue.fungibility
    if grade.mode <= Mode.no_candidates:
        return False
    if grade.mode < Mode.fit and rules.when_can_preempt == "TryNextFlavor":
        return False
    return not (grade.level > 0 and rules.when_can_borrow == "TryNextFlavor")


def _rank(queue: Queue, rules: Rules, grade: Grade) -> tuple[int, ...]:
    """Order of grades, the best largest.

    1. what fits at all before what never does; from 0.19 on what has candidates as well
    2. mode, then the lower level; with PreemptionOverBorrowing level, then mode
    """
    if grade.mode is Mode.no_fit:
        return (0,)
    usable = grade.mode > Mode.no_candidates or not rules.no_candidates_stays_below
    if queue.fungibility.preference == "PreemptionOverBorrowing":
        return (2 if usable else 1, -grade.level, grade.mode)
    return (2 if usable else 1, grade.mode, -grade.level)
