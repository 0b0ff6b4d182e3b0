"""What is odd about how GPUs are used: found in figures that are there already, kept as episodes.

Pure. It names and proposes; nothing is stopped by it. Unknown is no anomaly but a gap.
"""

from .episodes import Change, advance, shown
from .facts import (
    NO_LIFE,
    NO_SPELL,
    NO_TASKS,
    Ended,
    Facts,
    Held,
    Life,
    Pool,
    Reach,
    Silence,
    Spell,
    Stranger,
    Stray,
    Tasks,
)
from .find import find
from .finding import Finding
from .of_lease import USED_PERCENT, of_lease

__all__ = [
    "NO_LIFE",
    "NO_SPELL",
    "NO_TASKS",
    "USED_PERCENT",
    "Change",
    "Ended",
    "Facts",
    "Finding",
    "Held",
    "Life",
    "Pool",
    "Reach",
    "Silence",
    "Spell",
    "Stranger",
    "Stray",
    "Tasks",
    "advance",
    "find",
    "of_lease",
    "shown",
]
