"""How waiting requests stand to each other: what waiting and recent use add to their task type."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from ..words import Lasting, Part

Points = Annotated[int, Field(strict=True, ge=0, le=999)]


class PriorityRules(Part):
    """Points that move a waiting request inside the gap to the next task type, never past it."""

    ageing_per_hour: Points = 4
    """Points that an hour of waiting adds. Default 4: who waits gets nearer, not past a task type.
    0 leaves the order to task type and time of the request."""
    most_ageing: Points = 40
    """Most points that waiting adds. Default 40, reached after 10 hours."""
    recent_half_life: Lasting = timedelta(days=1)
    """After so long a GPU-hour that somebody had counts half. Default 1d."""
    recent_per_gpu_hour: Points = 2
    """Points that each recent GPU-hour of the same person takes off. Default 2: who has had much
    lets others go first. 0 leaves it out of account."""
    most_recent: Points = 40
    """Most points that recent use takes off. Default 40, reached by 20 recent GPU-hours."""
