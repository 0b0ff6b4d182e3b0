"""How telling outside goes: up to which line the ledger was looked through, and what came of it.

In memory. The line and the duties are in the ledger; counts begin anew with the governor.
"""

from collections import Counter
from dataclasses import dataclass, field

OUTWARD = "outward"
"""Kind of the duty to tell one receiver one message."""

SENT = "sent"
"""Result of a duty that was done."""

TAKEN = "notice.taken"
"""Event: the ledger was looked through up to a line, and the duties of that stand."""


@dataclass
class OutwardBook:
    """`through` is the last line that was looked at; None before the first look.

    `idle` says that the policy had no way out at the last look.
    """

    through: int | None = None
    idle: bool = False
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    trouble: dict[str, str] = field(default_factory=dict)
    """By way of the policy, why its newest message did not go; it goes with the next that does."""
