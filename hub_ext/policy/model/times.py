"""Announcement times and modes: when the policy acts, and how long it warns."""

from datetime import timedelta
from typing import Literal

from ..words import Flag, Lasting, Part, Span

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
