"""The number by which requests and leases stand to each other: band x 1000 + weight.

A weight is the task type's, plus what waiting adds, less what recent use takes off. Both
together stay inside the gap to the next type: they order requests of a type, never two types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from ..i18n import _
from ..lease import LeaseId, LeaseState, OpenLease
from ..policy.model import Policy

CALLED_IN, WAITING, RUNNING = 0, 1, 2
"""Bands: whoever waits stands above what was called in, and below all else that runs."""

BAND = 1000
HIGHEST = 999
"""Weight of a request that has called others in, and of nothing else."""

NONE = timedelta(0)
HOUR = timedelta(hours=1)
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rules of one policy, shortened so that they stay inside the gap between task types."""

    per_hour: int
    most_ageing: int
    per_gpu_hour: int
    most_recent: int


class Weight(NamedTuple):
    """A weight and its parts. `recent` is what is taken off, never negative."""

    task: int
    waited: int = 0
    recent: int = 0
    calling: bool = False

    @property
    def total(self) -> int:
        """The weight, between 0 and 999; the highest is kept for those that have called in."""
        if self.calling:
            return HIGHEST
        return max(0, min(HIGHEST - 1, self.task + self.waited - self.recent))

    @property
    def number(self) -> int:
        """Priority number of a request that waits."""
        return WAITING * BAND + self.total


def ranking(policy: Policy) -> Ranking:
    """Read the rules; where they would bridge the gap, both are shortened alike."""
    rules = policy.priority
    ageing, recent = rules.most_ageing, rules.most_recent
    room = gap(policy) - 1
    if ageing + recent > room:
        ageing = ageing * room // (ageing + recent)
        recent = min(recent, room - ageing)
    return Ranking(rules.ageing_per_hour, ageing, rules.recent_per_gpu_hour, recent)


def gap(policy: Policy) -> int:
    """Least distance between two task types of different weight; unlabelled weighs 0."""
    weights = sorted({0, *(task.weight for task in policy.task_types.values())})
    steps = [high - low for low, high in pairwise(weights)]
    return min(steps, default=BAND)


def weigh(
    rules: Ranking, *, task: int, waited: timedelta, recent_s: int, calling: bool = False
) -> Weight:
    """Weigh one request.

    Parameters
    ----------
    task
        Weight of its task type.
    waited
        How long it waits; a clock that was set back adds nothing.
    recent_s
        GPU-seconds that its owner had, decayed.
    calling
        Whether others are called in for it.
    """
    hours = max(NONE, waited)
    return Weight(
        task=task,
        waited=min(rules.most_ageing, rules.per_hour * hours // HOUR),
        recent=min(rules.most_recent, rules.per_gpu_hour * max(0, recent_s) // _HOUR_S),
        calling=calling,
    )


def weight_of(
    policy: Policy, rules: Ranking, lease: OpenLease, recent: Mapping[str, int], at: datetime
) -> Weight:
    """Weigh a request that waits."""
    return weigh(
        rules,
        task=task_weight(policy, lease.task_type),
        waited=at - lease.requested_at,
        recent_s=recent.get(lease.key.user, 0),
        calling=lease.caller_since is not None,
    )


def task_weight(policy: Policy, task: str | None) -> int:
    """Weight of a task type; unlabelled, and a type that is gone, weigh 0."""
    found = policy.task_types.get(task) if task is not None else None
    return 0 if found is None else found.weight


def numbers(
    policy: Policy, leases: tuple[OpenLease, ...], recent: Mapping[str, int], at: datetime
) -> dict[LeaseId, int]:
    """Number every request that waits for a device."""
    rules = ranking(policy)
    return {
        lease.id: weight_of(policy, rules, lease, recent, at).number
        for lease in leases
        if lease.state is LeaseState.queued
    }


def arriving(
    policy: Policy, task: int, user: str, recent: Mapping[str, int], waited: timedelta = NONE
) -> int:
    """Number a request that has no lease yet, by the weight of its task type."""
    weight = weigh(ranking(policy), task=task, waited=waited, recent_s=recent.get(user, 0))
    return weight.number


def started(weight: int) -> int:
    """Priority number of what runs, with its weight frozen at the start."""
    return RUNNING * BAND + weight


def words(weight: Weight, task: str) -> str:
    """Show each part: "training 500, waiting +12, recent use -30"."""
    parts = [_("{task} {points}").format(task=task or _("no task type"), points=weight.task)]
    if weight.waited:
        parts.append(_("waiting +{points}").format(points=weight.waited))
    if weight.recent:
        parts.append(_("recent use \N{MINUS SIGN}{points}").format(points=weight.recent))
    text = ", ".join(parts)
    if weight.calling:
        return _("{parts}; first, because devices are called in for it").format(parts=text)
    return text
