"""A verdict in words: what is, and from when it would count as idle."""

from collections.abc import Sequence
from datetime import timedelta

from ..i18n import _
from ..lease import VerdictState
from ..lease.showing import Ground
from ..units import duration_text
from .evidence import Witness


def of(
    state: VerdictState,
    ground: Ground,
    limit: timedelta,
    heard: Sequence[Witness],
    quiet: timedelta,
    hold: str | None,
) -> str:
    """Say a verdict in one or two sentences."""
    text = _plain(state, ground, limit, heard, quiet)
    return text if hold is None else f"{text} {hold}"


def _plain(
    state: VerdictState,
    ground: Ground,
    limit: timedelta,
    heard: Sequence[Witness],
    quiet: timedelta,
) -> str:
    match state:
        case VerdictState.active if ground == "gpu_unused":
            return _("In use, but not its GPU: a profile without one would do.")
        case VerdictState.active:
            return _("In use.")
        case VerdictState.unknown:
            lost = [one.name for one in heard if one.required and one.track.state == "unknown"]
            return _("Unknown: no fresh figure of {lost}. Unknown is not idle.").format(
                lost=", ".join(lost)
            )
        case VerdictState.idle:
            return _idle(ground).format(quiet=duration_text(quiet), limit=duration_text(limit))
        case VerdictState.quiet:
            return _("Quiet for {quiet}; it counts as idle after {limit}.").format(
                quiet=duration_text(quiet), limit=duration_text(limit)
            )


def _idle(ground: Ground) -> str:
    match ground:
        case "never_used":
            return _("Idle: its GPU was never used, and quiet for {quiet}; the limit is {limit}.")
        case "no_progress":
            return _(
                "Idle: a kernel is busy, yet nothing happened for {quiet}; the limit is {limit}."
            )
        case _:
            return _("Idle: quiet for {quiet}; the limit is {limit}.")
