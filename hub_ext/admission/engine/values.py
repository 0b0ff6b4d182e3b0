"""What the engine is given and what it answers: frozen values in Kueue's words.

Quotas, requests and usage are integers of any unit, as long as it is one unit for a resource.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Pair = tuple[str, str]
"""Flavor and resource."""

Within = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
Reclaim = Literal["Never", "LowerPriority", "Any"]
Borrow = Literal["Never", "LowerPriority"]
WhenCanBorrow = Literal["MayStopSearch", "TryNextFlavor"]
WhenCanPreempt = Literal["MayStopSearch", "TryNextFlavor"]
Preference = Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"]
Strategy = Literal["BestEffortFIFO", "StrictFIFO"]
Release = Literal["0.17", "0.19", "0.20"]
Reason = Literal["InClusterQueue", "InCohortReclamation", "InCohortReclaimWhileBorrowing"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The release whose rules hold where they differ; 0.17 ranks flavors otherwise than 0.19."""

    release: Release = "0.19"

    @property
    def no_candidates_stays_below(self) -> bool:
        """A flavor without candidates is worse than any usable one, also by level."""
        return self.release != "0.17"

    @property
    def recompute_on_overlap(self) -> bool:
        """A request whose victim is taken already is assigned anew instead of skipped."""
        return self.release == "0.20"


CURRENT = Rules()
"""The rules that the vectors are of."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota of one flavor and resource at one node; None is "no limit"."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Cohort:
    """A node of a tree; without a parent it is a root. Its quota comes on top of its members'."""

    name: str
    parent: str | None = None
    quotas: Mapping[Pair, Quota] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """Resources that are given the same flavor, and the flavors in the order they are tried."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whose workloads a queue may end; `threshold` is the highest priority taken in borrowing."""

    within: Within = "Never"
    reclaim: Reclaim = "Never"
    borrow: Borrow = "Never"
    threshold: int | None = None


@dataclass(frozen=True, slots=True)
class Fungibility:
    """When the next flavor is tried, and which of two flavors is better."""

    when_can_borrow: WhenCanBorrow = "MayStopSearch"
    when_can_preempt: WhenCanPreempt = "TryNextFlavor"
    preference: Preference = "BorrowingOverPreemption"


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue. One without a cohort stands alone; an inactive one admits nothing."""

    name: str
    cohort: str | None = None
    groups: tuple[Group, ...] = ()
    quotas: Mapping[Pair, Quota] = field(default_factory=dict)
    preemption: Preemption = Preemption()
    fungibility: Fungibility = Fungibility()
    strategy: Strategy = "BestEffortFIFO"
    active: bool = True


@dataclass(frozen=True, slots=True)
class Workload:
    """One request. It is admitted, and charged, exactly where `usage` is given.

    `queued_at` and `reserved_at` are instants of any integer unit; `uid` ends every comparison.
    `flavors` are those that its node selector allows; None allows all. An `evicted` one that is
    admitted still holds its quota.
    """

    id: str
    queue: str
    priority: int
    queued_at: int
    uid: int | str
    requests: Mapping[str, int] = field(default_factory=dict)
    flavors: frozenset[str] | None = None
    usage: Mapping[Pair, int] | None = None
    reserved_at: int = 0
    evicted: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """Everything at one instant.

    `parked` were tried in vain and wait for a change; `preemptors` name by queue the workload
    that last started a preemption: it comes first until it is admitted or gone.
    """

    cohorts: tuple[Cohort, ...] = ()
    queues: tuple[Queue, ...] = ()
    workloads: tuple[Workload, ...] = ()
    parked: frozenset[str] = frozenset()
    preemptors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Admission:
    """One workload that got its quota; `borrowing` where it reaches beyond its queue's nominal."""

    id: str
    flavors: Mapping[str, str]
    usage: Mapping[Pair, int]
    level: int
    borrowing: bool


@dataclass(frozen=True, slots=True)
class Victim:
    """One workload to end, for whom, and the reason of Kueue's `Preempted` condition."""

    id: str
    for_id: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Pending:
    """Why a request is not admitted: Kueue's reason and words, with the figures behind them."""

    code: str
    message: str
    figures: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cycle:
    """What one cycle decided. `parked` and `preemptors` are those of the next state."""

    admitted: tuple[Admission, ...] = ()
    victims: tuple[Victim, ...] = ()
    pending: Mapping[str, Pending] = field(default_factory=dict)
    parked: frozenset[str] = frozenset()
    preemptors: Mapping[str, str] = field(default_factory=dict)
