"""What one line of the stream tells a page. Codes only: the page has the words and translates."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import AwareDatetime

from hub_ext.lease import LeaseView, Value

from .hook import HookState


class Link(StrEnum):
    """What stands between the page and figures of now."""

    connecting = "connecting"
    live = "live"
    stale = "stale"
    """The governor does not answer; `view`, if any, is the last one seen."""
    refused = "refused"
    """The governor answers, but not with this server's lease; `words` says why."""
    no_hub = "no_hub"
    no_governor = "no_governor"
    guest = "guest"
    """Somebody else's server: lease and cost are its owner's business."""


class PageState(Value):
    """State of this server's lease for one page.

    `age_s` is how old the figures in `view` were when the line was written; `since` when the
    governor was last heard of.
    """

    kind: Literal["state"] = "state"
    link: Link
    view: LeaseView | None = None
    age_s: int = 0
    since: AwareDatetime | None = None
    words: str = ""
    pages_path: str = ""
    before_stop: HookState = HookState.none
    before_stop_s: int = 0
    """Longest time that the person's program may run before a stop."""

    def line(self) -> bytes:
        """One JSON line, without what a page has no use for."""
        unused: dict[str, Any] = {
            "lease": {
                "process": True,
                "called_in": True,
                "grant": {"labels", "node_selector", "attempt_id"},
            },
            "ended": {"process": True, "grant": True},
        }
        return self.model_dump_json(exclude={"view": unused}).encode() + b"\n"


BEAT = b'{"kind":"beat"}\n'
"""Says nothing, but shows that the stream lives and finds pages that are gone."""
