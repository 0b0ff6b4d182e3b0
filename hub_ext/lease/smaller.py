"""A cheaper profile that the past of a person and project would have fitted in: a hint."""

from typing import Literal

from .usage import Count
from .words import ProfileName, TeamName, Value

Confidence = Literal["low", "fair", "high"]
"""How much was measured behind it: few leases or hours, some, many."""


class Smaller(Value):
    """What could be chosen instead, what an hour of it saves, and what that rests on."""

    profile: ProfileName
    team: TeamName
    saves_micro_per_hour: Count
    confidence: Confidence
    leases: Count
    """Past leases that were measured."""
    measured_s: Count
    """For how long, all together."""
    peak_memory_bytes: Count
    """GPU memory of one of them at most."""
    peak_busy_percent: Count
    """Of one whole GPU, in the busiest hour."""
    words: str
