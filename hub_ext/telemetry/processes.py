"""CPU, memory, disk and network of each lease: witnesses beside the GPU's own figures.

A process belongs to a lease by GPU_COMMONS_LEASE_ID in its environment, else by its parents up
to the server's process. Where a control group is the lease's alone, what that counts is taken.
What may not be read is unknown, never 0.
"""

import time
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import NamedTuple

import psutil

from ..i18n import _
from ..lease import LeaseId, ProcessRef, ProcessSample, WatchItem, WatchList
from .accounting import (
    SAME_PROCESS_S,
    Group,
    Key,
    Read,
    Seen,
    cpu_millis,
    disk_bytes_s,
    flow_bytes_s,
)
from .cgroups import NO_GROUPS, Cgroups
from .counters import between
from .counters import read as read_counters
from .netspaces import namespaces
from .strays import Whose

LEASE_VARIABLE = "GPU_COMMONS_LEASE_ID"

AGAIN = 64
"""Every so many reads an old process is looked at anew, in case its pid was given to another."""

YOUNG_S = 10.0
"""A process is looked at anew while it is younger: a server is forked first and gets its own
environment a moment later."""


class _Look(NamedTuple):
    """What was learnt of any process of the node when it was last examined."""

    key: Key
    parent: int
    since_s: float
    lease: str | None
    readable: bool


class ProcessMeter:
    """Reads what leases use; each figure is over the time since the lease's former read.

    Parameters
    ----------
    steady
        Seconds of a clock that never steps.
    wall
        Seconds since 1970, as processes' creation is told in.
    cgroups
        This machine's control groups.
    """

    def __init__(
        self,
        steady: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        cgroups: Cgroups | None = None,
    ) -> None:
        self._cgroups = cgroups or Cgroups()
        self._steady = steady
        self._wall = wall
        self._looks: dict[int, _Look] = {}
        self._members: dict[Key, LeaseId] = {}
        self._former: dict[LeaseId, Read] = {}
        self._reads = 0

    def read(self, watch: WatchList, now: datetime) -> tuple[ProcessSample, ...]:
        """Read every lease of the list once. Never raises."""
        at_s, wall_s = self._steady(), self._wall()
        roots = {item.process.pid: item for item in watch.leases if item.process is not None}
        self._examine(at_s, roots.keys())
        self._members = self._owned(watch, roots)
        groups: dict[LeaseId, Group] = {item.lease_id: {} for item in watch.leases}
        for key, lease_id in self._members.items():
            if (seen := _look_at(key)) is not None:
                groups[lease_id][key] = seen
        flows = namespaces((key.pid, lease_id) for key, lease_id in self._members.items())
        members = {one: [key.pid for key in group] for one, group in groups.items() if group}
        places = self._cgroups.of(members, self._looks.keys())
        reads = {
            lease_id: self._counted(
                Read(
                    *(at_s, wall_s, group, flows.get(lease_id, {})),
                    places.get(lease_id, NO_GROUPS),
                )
            )
            for lease_id, group in groups.items()
        }
        samples = tuple(self._sample(item, reads[item.lease_id], now) for item in watch.leases)
        self._former = {lease_id: read for lease_id, read in reads.items() if read.group}
        return samples

    def whose(self, pid: int) -> Whose | None:
        """Say whose a process is, as of the newest read; None where that cannot be told."""
        look = self._looks.get(pid)
        if look is None or not look.readable:
            return None
        member = self._members.get(look.key)
        return Whose(member or (None if look.lease is None else LeaseId(look.lease)))

    def _counted(self, read: Read) -> Read:
        """Add what the lease's own control group counts, with the time that it is read at."""
        if not read.place.folders:
            return read
        return read._replace(counters=read_counters(read.place.folders), counted_s=self._steady())

    def _sample(self, item: WatchItem, read: Read, now: datetime) -> ProcessSample:
        former = self._former.get(item.lease_id)
        reason = self._blind(item, read.group)
        if not reason and former is None:
            reason = _("first reading; the next one tells")
        sample = ProcessSample(
            lease_id=item.lease_id,
            at=now,
            cpu_millis=None,
            processes=len(read.group),
            absent=reason,
        )
        if reason or former is None:
            return sample
        disk = disk_bytes_s(former, read)
        figures: dict[str, object] = {
            "cpu_millis": cpu_millis(former, read),
            "disk_bytes_s": disk,
            "net_bytes_s": flow_bytes_s(former.flows, read.flows, read.at_s - former.at_s),
            "stalled_absent": read.place.reason,
        }
        return sample.model_copy(update=figures | _of_group(former, read, disk))

    def _blind(self, item: WatchItem, group: Group) -> str:
        """Why the processes found may not be all of the lease's; empty when they are."""
        if not group:
            return _("no process of this lease is found on this node")
        if item.process is None:
            return ""
        root = next((key for key in group if _is(key, item.process)), None)
        look = self._looks.get(root.pid) if root else None
        if look is not None and not look.readable:
            return _("no right to read the environment of the server's processes")
        return ""

    def _examine(self, at_s: float, roots: Collection[int]) -> None:
        """Learn about processes that are new, young, a server's own, or due again."""
        self._reads += 1
        pids = psutil.pids()
        for pid in self._looks.keys() - set(pids):
            del self._looks[pid]
        for pid in pids:
            former = self._looks.get(pid)
            settled = former is not None and at_s - former.since_s > YOUNG_S
            if settled and pid not in roots and (pid + self._reads) % AGAIN:
                continue
            look = _examined(pid, former, at_s)
            if look is not None:
                self._looks[pid] = look
            else:
                self._looks.pop(pid, None)

    def _owned(self, watch: WatchList, roots: Mapping[int, WatchItem]) -> dict[Key, LeaseId]:
        """Tell the lease of each process that has one: its own claim, else its parent's."""
        wanted = {item.lease_id for item in watch.leases}
        owner: dict[int, LeaseId | None] = {}
        for pid in self._looks:
            passed: list[int] = []
            at = pid
            while at in self._looks and at not in owner and at not in passed:
                decided, lease_id = self._claim(self._looks[at], wanted, roots.get(at))
                if decided:
                    owner[at] = lease_id
                    break
                passed.append(at)
                at = self._looks[at].parent
            for below in passed:
                owner[below] = owner.get(at)
        return {
            look.key: lease_id
            for pid, look in self._looks.items()
            if (lease_id := owner[pid]) is not None
        }

    def _claim(
        self, look: _Look, wanted: set[LeaseId], root_of: WatchItem | None
    ) -> tuple[bool, LeaseId | None]:
        """Whether a process itself says whose it is, and whose."""
        if look.lease is not None:
            named = LeaseId(look.lease)
            return True, named if named in wanted else None
        if root_of is not None and root_of.process is not None and _is(look.key, root_of.process):
            return True, root_of.lease_id
        # A member stays one when its parents are gone: daemons cut that tie on purpose.
        former = self._members.get(look.key)
        return former in wanted, former


def _examined(pid: int, former: _Look | None, at_s: float) -> _Look | None:
    try:
        process = psutil.Process(pid)
        key = Key(pid, process.create_time())
        parent = process.ppid()
    except (psutil.Error, OSError):
        return None
    known = former is not None and former.key == key
    named, readable = _lease_in_environment(process)
    return _Look(
        key=key,
        # The first parent counts: it tells who started it, also after that one is gone.
        parent=former.parent if known and former is not None else parent,
        since_s=former.since_s if known and former is not None else at_s,
        lease=named,
        readable=readable,
    )


def _is(key: Key, process: ProcessRef) -> bool:
    return (
        key.pid == process.pid
        and abs(key.created - process.created_us / 1_000_000) <= SAME_PROCESS_S
    )


def _lease_in_environment(process: psutil.Process) -> tuple[str | None, bool]:
    """Lease that a process's environment names, and whether the environment could be read."""
    try:
        return process.environ().get(LEASE_VARIABLE), True
    except psutil.AccessDenied:
        return None, False
    except (psutil.Error, OSError):
        # It is ending: a zombie has no environment left, and no secret either.
        return None, True


def _of_group(former: Read, read: Read, disk: int | None) -> dict[str, object]:
    """Figures of the lease's control group; of disks what counts more.

    A group counts no network file system, and its processes not what others write out for them.
    """
    if former.counters is None or read.counters is None or former.place != read.place:
        return {}
    spent = between(former.counters, read.counters, read.counted_s - former.counted_s)
    figures: dict[str, object] = {
        name: value for name, value in spent._asdict().items() if value is not None
    }
    moved = [one for one in (disk, spent.disk_bytes_s) if one is not None]
    figures["disk_bytes_s"] = max(moved, default=None)
    return figures | ({"scope": "cgroup"} if spent.cpu_millis is not None else {})


def _look_at(key: Key) -> Seen | None:
    try:
        process = psutil.Process(key.pid)
        with process.oneshot():
            if process.create_time() != key.created:
                return None
            spent = process.cpu_times()
            return Seen(
                parent=process.ppid(),
                own=spent.user + spent.system,
                reaped=spent.children_user + spent.children_system,
                disk=_disk(process),
            )
    except (psutil.Error, OSError):
        return None


def _disk(process: psutil.Process) -> int | None:
    """Bytes on block devices so far; None where they may not be read."""
    if not hasattr(process, "io_counters"):
        # A kernel that keeps no such account.
        return None
    try:
        moved = process.io_counters()
    except (psutil.Error, OSError, RuntimeError):
        return None
    return int(moved.read_bytes + moved.write_bytes)
