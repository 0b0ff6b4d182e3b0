"""Idle rules, announcement times and modes: when the policy acts, and how long it warns."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from .words import Count, Flag, FlavorKind, Lasting, Part, Span


class IdleRule(Part):
    """When a server counts as idle, and how long it is warned before the stop."""

    applies: tuple[FlavorKind, ...]
    """Kinds of flavor it is for: `gpu`, `mig`, `share`, `none`; `[]`: task types name it."""
    limit: Lasting
    """Quiet for so long is idle."""
    notice: Span
    """From the announcement to the stop."""
    start_grace: Span = timedelta(minutes=15)
    """A server younger than this is never judged. Default 15m: data and first imports take time."""
    gpu_active_percent: Annotated[Count, Field(le=100)] = 5
    """GPU utilisation from which a device counts as active. Default 5: below it is noise."""
    cpu_active_millis: Count = 200
    """CPU in thousandths of a core from which its processes count as active. Default 200."""
    keep: Span = timedelta(hours=1)
    """How long one "keep" by the person holds off this rule. Default 1h."""


Mode = Literal["observe", "advise", "enforce"]


class Modes(Part):
    """Whether each part of the policy acts or only records."""

    quota: Mode = "observe"
    """Shares, limits and caps. A device that is not free is refused in every mode."""
    idle: Mode = "observe"
    """Idle rules: record, tell, or stop."""
    budget: Mode = "observe"
    """Budgets: record what they would refuse, tell it too, or refuse it."""


class NoticeTimes(Part):
    """How long announced stops wait when no other rule says."""

    lifetime: Span = timedelta(minutes=15)
    """From the announcement of the lease's end to the end. Default 15m."""
    stop_limit: Lasting = timedelta(minutes=5)
    """How long a stop may take before the lease is no longer charged to the team. Default 5m."""
    hold: Lasting = timedelta(minutes=5)
    """How long a device is held for a request that waited. It is held once more after that, from
    its old place in the queue; then the request is closed. Default 5m."""
    never_used: Lasting = timedelta(minutes=15)
    """A server that was started for somebody who waited, whom nobody comes to and which stays
    idle for so long, is stopped. Default 15m: time to see it and to come back to the desk."""
    name_teams: Flag = False
    """Whether somebody whose borrowed server is called in is told for which team. Default false:
    they are told that it is for another team's guarantee."""
