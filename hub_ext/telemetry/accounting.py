"""What processes spent between two reads: nothing is counted twice, no orphan hides it."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .cgroups import NO_GROUPS, Groups
from .counters import Counters

SAME_PROCESS_S = 2.0
"""Two readings of one process's creation may differ so much: the kernel's boot time jitters."""

TICK_S = 0.02
"""The kernel counts CPU in hundredths of a second; two counts may differ by as much."""


class Key(NamedTuple):
    """A process, named so that a reused pid is another one."""

    pid: int
    created: float


class Seen(NamedTuple):
    """One process of a lease at one read; CPU in seconds since it began."""

    parent: int
    own: float
    reaped: float
    """CPU of its children that ended and that it waited for, and of theirs."""
    disk: int | None = None
    """Bytes on block devices, with those of its children that it waited for; None: unreadable."""


Group = dict[Key, Seen]


class Read(NamedTuple):
    """All processes of one lease at one read."""

    at_s: float
    wall_s: float
    group: Group
    flows: Mapping[int, int] = MappingProxyType({})
    """Bytes in and out so far of each network namespace that is the lease's alone."""
    place: Groups = NO_GROUPS
    """The control group that is the lease's alone, or why there is none."""
    counters: Counters | None = None
    """What that group has counted so far."""
    counted_s: float = 0.0
    """When it was asked."""


def cpu_millis(former: Read, read: Read) -> int | None:
    """CPU between two reads in thousandths of a core; never negative.

    A child that ended adds all its CPU to the parent that waited for it, also what was counted
    while it lived; so that part is taken off again, but never more than the parent gained so.
    """
    span = read.at_s - former.at_s
    if span <= 0:
        return None
    counted = _counted_before(former.group, read.group.keys(), lambda one: one.own + one.reaped)
    spent = 0.0
    for key, seen in read.group.items():
        before = former.group.get(key)
        if before is None:
            spent += seen.own + seen.reaped if _born_since(former, key) else 0.0
            continue
        spent += max(0.0, seen.own - before.own)
        spent += max(0.0, seen.reaped - before.reaped - counted.get(key, 0.0))
    return round(spent / span * 1000)


def disk_bytes_s(former: Read, read: Read) -> int | None:
    """Bytes a second on block devices between two reads; None where one process hides them.

    The kernel adds a child's bytes to its parent's only where the parent waited for it, which the
    CPU tells; else nothing is taken off, so that what is left out is never somebody's work.
    """
    span = read.at_s - former.at_s
    if span <= 0 or any(one.disk is None for one in read.group.values()):
        return None
    living = read.group.keys()
    cpu = _counted_before(former.group, living, lambda one: one.own + one.reaped)
    counted = _counted_before(former.group, living, lambda one: one.disk or 0)
    moved = 0.0
    for key, seen in read.group.items():
        before = former.group.get(key)
        if before is None:
            moved += (seen.disk or 0) if _born_since(former, key) else 0
            continue
        if before.disk is None:
            return None
        waited = 0 < cpu.get(key, 0.0) <= seen.reaped - before.reaped + TICK_S
        moved += max(
            0.0, (seen.disk or 0) - before.disk - (counted.get(key, 0.0) if waited else 0.0)
        )
    return round(moved / span)


def flow_bytes_s(former: Mapping[int, int], now: Mapping[int, int], span_s: float) -> int | None:
    """Bytes a second of network namespaces that were there at both reads; None where none was."""
    both = former.keys() & now.keys()
    if span_s <= 0 or not both:
        return None
    # A counter that fell was set anew with its interface.
    return round(sum(max(0, now[one] - former[one]) for one in both) / span_s)


def _born_since(former: Read, key: Key) -> bool:
    """Whether a new process began after the former read: an older one's past is no part of it."""
    return key.created >= former.wall_s - SAME_PROCESS_S


def _counted_before(
    former: Group, living: Iterable[Key], figure: Callable[[Seen], float]
) -> dict[Key, float]:
    """A figure of ended processes at the former read, by the nearest parent that still lives."""
    alive = set(living)
    by_pid = {key.pid: key for key in former}
    counted: dict[Key, float] = {}
    for key, seen in former.items():
        if key in alive:
            continue
        above = by_pid.get(seen.parent)
        passed: set[Key] = set()
        while above is not None and above not in alive and above not in passed:
            passed.add(above)
            above = by_pid.get(former[above].parent)
        if above is not None and above in alive:
            counted[above] = counted.get(above, 0.0) + figure(seen)
    return counted
