"""What keeps a GPU waiting, as its person and their lead see it. Unknown is never "nothing"."""

from typing import Literal

from pydantic import AwareDatetime

from .words import ShortText, Value

Bottleneck = Literal[
    "cpu", "server_memory", "storage", "network", "pcie", "memory", "none", "unknown"
]
"""What is short; `memory` is the GPU's own, `none` says that all that is measured has room."""


class Counted(Value):
    """One figure behind the answer; `short` says that it is at its limit."""

    name: ShortText
    state: Literal["short", "ample", "unknown"]
    value: ShortText
    """With its unit, or why it is missing."""


class WaitsFor(Value):
    """What the GPU of a server waits for, with evidence and what to try first."""

    cause: Bottleneck
    at: AwareDatetime
    window_s: int
    words: str
    remedy: str = ""
    """What to try first; empty where there is nothing to mend."""
    evidence: tuple[Counted, ...] = ()
