"""What a GPU waits for, on the page of a lease and in a line on its card."""

from ...i18n import _
from ...lease import WaitsFor
from ..books import formats

_KEYS = {"short": "noticed", "ample": "quiet", "unknown": "unknown"}
"""How each state of a counter is drawn."""


def line(found: WaitsFor | None) -> str:
    """Say it in a sentence, with what to try first; empty where nobody looked."""
    return "" if found is None else f"{found.words} {found.remedy}".rstrip()


def sheet(found: WaitsFor | None, zone: str) -> dict[str, object]:
    """Put it into a table of what was measured."""
    words = {"short": _("at its limit"), "ample": _("has room"), "unknown": _("unknown")}
    return {
        "waits_for": found,
        "waits_for_at": formats.instant(found.at, zone) if found else "",
        "waits_for_window": formats.span(found.window_s) if found else "",
        "counters": tuple(
            {
                "name": one.name,
                "state": words[one.state],
                "key": _KEYS[one.state],
                "value": one.value,
            }
            for one in (found.evidence if found else ())
        ),
    }
