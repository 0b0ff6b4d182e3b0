"""Priorities: one class for all governed pods, and one of Kueue's for each type of batch job."""

from collections.abc import Iterator

from ...policy.model import Policy
from .. import names
from ..podterms import PRIORITY_CLASS
from .kinds import Manifest
from .marks import manifest

__all__ = ["batch_class", "classes"]

_FIRST, _LAST = 1000, 1999
"""Numbers of what waits; running leases stand above, those that were called in below."""


def classes(policy: Policy) -> Iterator[Manifest]:
    """Render them. A job without a class has number 0, and is the first to be taken."""
    yield manifest(
        "PriorityClass",
        PRIORITY_CLASS,
        {
            "value": 0,
            "preemptionPolicy": "Never",
            "description": "Servers of GPU Commons: the governor says who stops, and announces it.",
        },
    )
    weights = {batch_class(): 0}
    weights |= {batch_class(name): one.weight for name, one in policy.task_types.items()}
    for name, weight in weights.items():
        body = {
            "value": min(_LAST, _FIRST + weight),
            "description": "Batch jobs beside governed servers.",
        }
        yield manifest("WorkloadPriorityClass", name, body)


def batch_class(task_type: str | None = None) -> str:
    """Name the class of batch jobs, or of those of one task type."""
    return "gc-job" if task_type is None else names.label_value(f"gc-job-{task_type}")
