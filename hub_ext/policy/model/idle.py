"""Idle rules: what counts as use, when its absence counts as idle, and what comes of it."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from ..words import Count, Flag, FlavorKind, Lasting, Memory, Name, Part, Span
from .keep import Keep, KeepTimes

Percent = Annotated[Count, Field(le=100)]


class IdleRule(Part):
    """When a server counts as idle, and how long it is warned before the stop.

    Rules that name profiles go before those that name teams, and these before the others.
    """

    applies: tuple[FlavorKind, ...]
    """Kinds of flavor it is for: `gpu`, `mig`, `share`, `none`; `[]`: task types name it."""
    profiles: tuple[Name, ...] = ()
    """Only these profiles; empty is all of its kinds."""
    teams: tuple[Name, ...] = ()
    """Only these teams; empty is all."""
    limit: Lasting
    """Quiet for so long is idle: no GPU, CPU, disk, network or input. 60m is usual for a whole
    GPU, 90m for a MIG device, 2h without a GPU: twelve times the usual pause between two cells."""
    notice: Span
    """From the announcement to the stop. 15m is usual: two chances to see it."""
    start_grace: Span = timedelta(minutes=15)
    """A server younger than this is never judged. Default 15m: data and first imports take time."""
    never_used: Span | None = None
    """Quiet for so long is idle where no process ever used the GPU since the start. Default 30m
    for a whole GPU, 60m for a MIG device or time-share: most GPUs that are never touched at first
    are never touched at all. `0s` switches it off."""
    no_progress: Span | None = None
    """While a kernel says that it is busy, so much quiet is idle instead of `limit`: `input()`, a
    deadlock, waiting for a machine elsewhere. Default 2h for a whole GPU, 3h for a MIG device or
    time-share. `0s`: a busy kernel that does nothing changes nothing."""
    gpu_unused: Span | None = None
    """After so long without work on the GPU, while CPU, disk or network work, its owner is advised
    to change to a profile without it. Default 4h for a whole GPU, 8h for a MIG device or
    time-share: downloads take hours. `0s` switches it off."""
    gpu_unused_stop: Flag = False
    """Whether such a server is stopped, with notice, while somebody waits whom just that lets
    start; no more are than wait. Default false: preparing data is work too."""
    advise: Lasting | None = None
    """After so much quiet, before `limit`, its owner is advised a smaller profile or one without a
    GPU that they could have at once, by name and with its price; nothing is stopped for it. Absent:
    only where its GPU is not used beside other work. Half the limit is usual."""
    window: Span | None = None
    """Over which means and shares are taken. Default 5m, the usual pause between two cells, and at
    most a sixth of the limit."""
    gpu_active_percent: Percent = 5
    """GPU utilisation from which a reading counts as active. Default 5: below it is noise."""
    gpu_active_share: Percent = 10
    """So many percent of a window's readings must be active. Default 10: one `nvidia-smi` a
    minute is no use."""
    memory_active: Memory = 64 * 1024**2
    """GPU memory that comes or goes within a window and counts as use. Default 64MiB. What is
    held and still is no use."""
    power_active_watts: Count = 20
    """Power above the lowest seen that keeps a quiet GPU from counting as idle: its counter may be
    broken. Default 20; never a reason to stop."""
    cpu_active_millis: Count = 200
    """CPU in thousandths of a core, mean of a window, from which its processes count as active.
    Default 200."""
    cpu_baseline_millis: Annotated[int, Field(strict=True, ge=0, le=200)] = 50
    """What of the lowest mean is taken for the server itself, at most. Default 50."""
    disk_active: Memory = 1024**2
    """Bytes a second on disks, mean of a window, that count as active. Default 1MiB."""
    network_active: Memory = 1024**2
    """Bytes a second over the network, mean of a window, that count as active. Default 1MiB."""
    long_cell: Lasting = timedelta(minutes=10)
    """A cell that took longer is a long one. Default 10m."""
    after_long_cell: Span = timedelta(hours=1)
    """After a long cell so much time passes at least: people want to see the result. Default 1h."""
    user_extends: Span = timedelta(hours=4)
    """What the server alone says (input, cells that ended) holds idleness off for at most so long
    after the last use that the agent saw, since its owner could forge it. Default 4h."""
    trial: Span = timedelta(days=7)
    """For so long a new or changed rule only records whom it would have stopped; then an
    administrator switches it on, and until then the former rule of this name stays in force.
    Default 7d: a week has all its days in it. `0s`: it acts at once."""
    keep: Keep = KeepTimes()
    """How long people may hold off this rule themselves: `{each: 1h, server: 12h, week: 24h}`, or
    a time alone for `each`."""


class IdleStops(Part):
    """How far idle stops reach at once, and when nobody is stopped as idle at all.

    A counter that breaks for all looks like everybody going home.
    """

    most_a_pass: Count = 10
    """Idle stops in one pass over all servers, at most. Default 10: a fault that nothing sees
    shall end few servers; the next pass comes within seconds."""
    percent_a_pass: Percent = 10
    """Of the live servers with a GPU so many percent in one pass, at most; one is always allowed.
    Default 10."""
    together_least: Count = 5
    """So many servers at least must turn idle together to hold all idle stops. Default 5: fewer
    do so on any day, as at the end of a course."""
    together_percent: Percent = 30
    """More than so many percent of the live servers with a GPU must, besides. Default 30: no lunch
    is so well attended."""
    together_within: Lasting = timedelta(minutes=5)
    """Servers that turn idle within so long do so together. Default 5m: the window of most
    figures, and longer than a quiet server goes unjudged."""
    silent_least: Count = 2
    """So many agents at least must be silent to hold all idle stops. Default 2: one silent agent
    is a machine that restarts; its servers are unknown and kept anyway, and what the agents of
    other machines say is as true as before."""
    silent_percent: Percent = 20
    """From so many percent of silent agents on, besides. Default 20: then it is the network or
    this governor, and what still comes through is not relied upon."""


OFF = timedelta(0)

LOOKS_A_LIMIT = 240
"""A quiet server is judged at most so often within one limit: 4 hours of readings every 5 s
would be read for nothing, and a notice a minute late is no harm then."""

_HOUR = timedelta(hours=1)
_WINDOW = timedelta(minutes=5)

_NEVER_USED = {"gpu": _HOUR / 2, "mig": _HOUR, "share": _HOUR, "none": OFF}
_NO_PROGRESS = {"gpu": 2 * _HOUR, "mig": 3 * _HOUR, "share": 3 * _HOUR, "none": OFF}
_GPU_UNUSED = {"gpu": 4 * _HOUR, "mig": 8 * _HOUR, "share": 8 * _HOUR, "none": OFF}


def window_of(rule: IdleRule) -> timedelta:
    """Over which means and shares are taken; zero is each reading by itself."""
    return min(_WINDOW, rule.limit / 6) if rule.window is None else rule.window


def never_used(rule: IdleRule, kind: FlavorKind) -> timedelta:
    """Limit of a server that never used its GPU; zero is off."""
    return _NEVER_USED[kind] if rule.never_used is None else rule.never_used


def no_progress(rule: IdleRule, kind: FlavorKind) -> timedelta:
    """Limit of a server whose kernel is busy with nothing to see; zero is off."""
    return _NO_PROGRESS[kind] if rule.no_progress is None else rule.no_progress


def gpu_unused(rule: IdleRule, kind: FlavorKind) -> timedelta:
    """After how long beside a GPU that does nothing its owner is advised; zero is off."""
    return _GPU_UNUSED[kind] if rule.gpu_unused is None else rule.gpu_unused
