"""From what a person's past leases of a project needed to a cheaper profile that would do. Pure.

It is told and never forced. Nothing is said where too little was measured, and what was needed
most in any of the leases counts, with room to spare.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from ..i18n import _, ngettext
from ..lease import ProfileName, TeamName
from ..lease.smaller import Confidence, Smaller
from ..units import UNITS_PER_GPU, money_text

LEAST_LEASES = 3
"""Fewer measured leases say nothing."""

LEAST_MEASURED = timedelta(hours=1)
LEAST_SHARE_PERCENT = 50
"""A lease of which less was measured is left out: its peak may lie in the dark."""

MEMORY_ROOM_PERCENT = 130
"""What is needed of memory, of the peak that was seen: peaks are read between times."""

WORK_ROOM_PERCENT = 130
"""What is needed of the computing, of the busiest hour."""

LEAST_SAVING_PERCENT = 10
"""A smaller saving is not worth a thought."""

FAIR = (5, timedelta(hours=5))
HIGH = (10, timedelta(hours=20))
"""From so many leases and so much measured time on."""


class Peak(NamedTuple):
    """What one past lease needed at most: memory of all its devices, and units that were busy.

    `memory_bytes` is None where a device never told its memory.
    """

    memory_bytes: int | None
    busy_units: int
    measured_s: int
    held_s: int


class Size(NamedTuple):
    """A profile as something to choose: how much of which GPU it has, and what an hour costs.

    `work_units` are its share of the computing, which of a MIG profile is not that of the memory.
    """

    profile: ProfileName
    title: str
    team: TeamName
    model: str
    units: int
    work_units: int
    memory_bytes: int
    price_micro: int


def smaller(
    wanted: Size, others: Iterable[Size], past: Sequence[Peak], currency: str
) -> Smaller | None:
    """Find the cheapest profile that all of the past would have fitted in; None where none is.

    Parameters
    ----------
    wanted
        The profile that is looked at.
    others
        What the person could have instead for the same team and project. Those of another model
        are left out: a busy share of one says nothing of another.
    past
        What the person's leases of the project needed, the newest of them.
    """
    known = [one for one in past if _counts(one)]
    confidence = confidence_of(known)
    if confidence is None:
        return None
    memory = max(one.memory_bytes or 0 for one in known) * MEMORY_ROOM_PERCENT // 100
    work = max(one.busy_units for one in known) * WORK_ROOM_PERCENT // 100
    fitting = [
        one
        for one in others
        if one.model == wanted.model
        and one.team == wanted.team
        and one.units < wanted.units
        and memory <= one.memory_bytes
        and work <= one.work_units
        and _saves(wanted, one) * 100 >= LEAST_SAVING_PERCENT * wanted.price_micro
    ]
    if not fitting:
        return None
    best = min(fitting, key=lambda one: (one.price_micro, one.units, one.profile))
    measured_s = sum(one.measured_s for one in known)
    return Smaller(
        profile=best.profile,
        team=best.team,
        saves_micro_per_hour=_saves(wanted, best),
        confidence=confidence,
        leases=len(known),
        measured_s=measured_s,
        peak_memory_bytes=max(one.memory_bytes or 0 for one in known),
        peak_busy_percent=max(one.busy_units for one in known) * 100 // UNITS_PER_GPU,
        words=_words(wanted, best, known, confidence, currency),
    )


def confidence_of(known: Sequence[Peak]) -> Confidence | None:
    """Say how much the past tells: by how many leases, and how long they were measured."""
    measured = timedelta(seconds=sum(one.measured_s for one in known))
    if len(known) < LEAST_LEASES or measured < LEAST_MEASURED:
        return None
    for name, (leases, span) in (("high", HIGH), ("fair", FAIR)):
        if len(known) >= leases and measured >= span:
            return "high" if name == "high" else "fair"
    return "low"


def _counts(one: Peak) -> bool:
    return (
        one.memory_bytes is not None
        and one.held_s > 0
        and one.measured_s * 100 >= LEAST_SHARE_PERCENT * one.held_s
    )


def _saves(wanted: Size, other: Size) -> int:
    return wanted.price_micro - other.price_micro


def _words(
    wanted: Size, best: Size, known: Sequence[Peak], confidence: Confidence, currency: str
) -> str:
    sure = {
        "low": _("a first hint"),
        "fair": _("fairly sure"),
        "high": _("rather sure"),
    }[confidence]
    hours = sum(one.measured_s for one in known) // 3600
    n = len(known)
    past = ngettext(
        "Your last {n} lease of this project needed at most {memory} of GPU memory and {busy} % of "
        "a GPU",
        "Your last {n} leases of this project needed at most {memory} of GPU memory and {busy} % "
        "of a GPU",
        n,
    ).format(
        n=n,
        memory=_gib(max(one.memory_bytes or 0 for one in known)),
        busy=-(-max(one.busy_units for one in known) * 100 // UNITS_PER_GPU),
    )
    return _(
        "{past}: {title} would do, for {saving} less an hour ({sure}: {hours} h were measured). "
        "Choose as you need."
    ).format(
        past=past,
        title=best.title,
        saving=money_text(_saves(wanted, best), currency),
        sure=sure,
        hours=hours,
    )


def _gib(count: int) -> str:
    """Write memory in tenths of a GiB, never less than it was."""
    tenths = -(-count * 10 // 2**30)
    return f"{tenths // 10}.{tenths % 10} GiB"
