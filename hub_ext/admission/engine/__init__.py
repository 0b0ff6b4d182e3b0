"""Kueue's classical mode for workloads of one part: pure, over a frozen state.

It knows neither policy nor lease: what it is given are quotas, queues and workloads.
"""

from .run import cycle, targets
from .settle import settle
from .values import (
    CURRENT,
    Admission,
    Cohort,
    Cycle,
    Fungibility,
    Group,
    Pair,
    Pending,
    Preemption,
    Queue,
    Quota,
    Rules,
    State,
    Victim,
    Workload,
)

__all__ = [
    "CURRENT",
    "Admission",
    "Cohort",
    "Cycle",
    "Fungibility",
    "Group",
    "Pair",
    "Pending",
    "Preemption",
    "Queue",
    "Quota",
    "Rules",
    "State",
    "Victim",
    "Workload",
    "cycle",
    "settle",
    "targets",
]
