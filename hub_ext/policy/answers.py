"""How a refusal names what was asked and what may be chosen instead."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from ..i18n import _

_LONGEST_ECHO = 80
"""Characters of a name that an answer repeats; a request may hold a novel."""


def quoted(name: str) -> str:
    """Write a name in quotes, cut where it is a novel."""
    return repr(name if len(name) <= _LONGEST_ECHO else f"{name[:_LONGEST_ECHO]}…")


def listed(names: Iterable[str]) -> str:
    """Write names in quotes, with commas."""
    return ", ".join(quoted(name) for name in names)


def instead(name: str, allowed: Sequence[str]) -> str:
    """Say what may be chosen, and which of it was perhaps meant."""
    if not allowed:
        return _("There is none that you could choose; ask an administrator.")
    near = get_close_matches(name[:_LONGEST_ECHO], allowed, n=1)
    if near:
        return _("Did you mean {name}? You can choose: {allowed}.").format(
            name=quoted(near[0]), allowed=listed(allowed)
        )
    return _("You can choose: {allowed}.").format(allowed=listed(allowed))
