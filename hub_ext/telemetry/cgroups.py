"""Control groups of leases: where the kernel keeps the account of all that one server does.

A group counts for a lease where all of the lease is in it and nobody else is. It reads the trees
of v1 and v2 side by side, and never raises: what cannot be found has a reason.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..i18n import _
from ..lease import LeaseId

TREE = Path("/sys/fs/cgroup")
PROC = Path("/proc")

UNIFIED = "unified"
"""Key of the v2 tree among the controllers of v1, and its folder where both are mounted."""

CONTROLLERS = ("cpu", "cpuacct", "memory", "blkio")
"""What is read of v1, where each controller has a tree of its own."""

MOST_BELOW = 256
"""Groups below a server's that are looked into; whoever makes more is not measured so."""

_POD = re.compile(r"(?:kubepods(?:-[a-z]+)?-)?pod[0-9a-f][0-9a-f_-]{31,35}(?:\.slice)?")
"""A pod's group by either cgroup driver: `pod<uid>`, or systemd's `kubepods-…-pod<uid_>.slice`."""

_CONTAINER = re.compile(
    r"(?:[a-z-]+-)?[0-9a-f]{64}(?:\.scope)?|kubepods\S*:cri-containerd:[0-9a-f]{64}"
)
"""A container's: `<id>`, systemd's `cri-containerd-<id>.scope`, or containerd's `…:<id>`."""


class Groups(NamedTuple):
    """Folders of one lease's group by tree; `reason` says why there are none."""

    folders: Mapping[str, Path]
    reason: str = ""


NO_GROUPS = Groups({}, _("control groups are not read"))


class Cgroups:
    """The trees of control groups of this machine.

    Parameters
    ----------
    tree
        Where they are mounted; in a container, where those of the machine are.
    """

    def __init__(self, tree: Path = TREE, proc: Path = PROC) -> None:
        self._tree = tree
        self._proc = proc
        self._homes: dict[str, PurePosixPath | None] = {}

    def of(
        self, members: Mapping[LeaseId, Collection[int]], known: Collection[int]
    ) -> Mapping[LeaseId, Groups]:
        """Find the group of each lease.

        Parameters
        ----------
        members
            Processes of each lease.
        known
            All processes that were looked at; one that is not among them was only just born, and
            whose it is shows at the next read.
        """
        trees = self._trees()
        if not trees:
            none = Groups({}, _("this machine shows no control groups"))
            return dict.fromkeys(members, none)
        owned = {pid for pids in members.values() for pid in pids}
        return {
            lease: self._groups(trees, set(pids), owned, set(known))
            for lease, pids in members.items()
        }

    def _groups(
        self, trees: Mapping[str, Path], mine: set[int], owned: set[int], known: set[int]
    ) -> Groups:
        where = [self._places(pid) for pid in mine]
        folders, reasons = {}, []
        for name, top in trees.items():
            group, reason = _common(place[name] for place in where if name in place)
            if group is None:
                reasons.append(reason)
            elif (folder := self._resolved(name, top, group)) is None:
                reasons.append(_("its control group cannot be seen from here"))
            # Whatever else is in a server's container, such as a probe, is there for that server.
            elif _is_shared(folder, (owned if _is_contained(group) else known) - mine):
                reasons.append(_("its processes share a control group with others"))
            else:
                folders[name] = folder
        return Groups(folders, "" if folders else reasons[0])

    def _trees(self) -> dict[str, Path]:
        if (self._tree / "cgroup.controllers").is_file():
            return {UNIFIED: self._tree}
        both = (*CONTROLLERS, UNIFIED)
        return {name: self._tree / name for name in both if (self._tree / name).is_dir()}

    def _places(self, pid: int) -> dict[str, PurePosixPath]:
        try:
            return places((self._proc / str(pid) / "cgroup").read_text("utf-8", "replace"))
        except OSError:
            return {}

    def _resolved(self, name: str, top: Path, group: PurePosixPath) -> Path | None:
        """Folder of a group; inside a cgroup namespace others' paths begin with `/..`."""
        parts = group.parts[1:]
        up = next((n for n, part in enumerate(parts) if part != ".."), len(parts))
        if ".." in parts[up:]:
            return None
        if up:
            home = self._home(name, top)
            if home is None or up > len(home.parts):
                return None
            parts = (*home.parts[: len(home.parts) - up], *parts[up:])
        folder = top.joinpath(*parts)
        return folder if parts and folder.is_dir() else None

    def _home(self, name: str, top: Path) -> PurePosixPath | None:
        """Where the root of our own namespace is in the machine's tree; looked for once."""
        if name not in self._homes:
            inside = self._places_of_self(name)
            folder = next((one for one in _below(top) if os.getpid() in _processes(one)), None)
            depth = len(inside.parts) - 1
            self._homes[name] = None
            if folder is not None:
                parts = folder.relative_to(top).parts
                self._homes[name] = PurePosixPath(*parts[: len(parts) - depth])
        return self._homes[name]

    def _places_of_self(self, name: str) -> PurePosixPath:
        return self._places(os.getpid()).get(name, PurePosixPath("/"))


def places(text: str) -> dict[str, PurePosixPath]:
    """Read where a process is in each tree, from the text of its `/proc/PID/cgroup`."""
    found: dict[str, PurePosixPath] = {}
    for row in text.splitlines():
        number, _colon, rest = row.partition(":")
        names, _colon, path = rest.partition(":")
        if not path.startswith("/") or path.endswith(" (deleted)") or "\0" in path:
            continue
        place = _container_in(PurePosixPath(path))
        if number == "0" and not names:
            found[UNIFIED] = place
        found |= {name: place for name in names.split(",") if name in CONTROLLERS}
    return found


def _container_in(path: PurePosixPath) -> PurePosixPath:
    """Cut a path off below the outermost container in it: what is inside is the container's."""
    for depth, part in enumerate(path.parts, start=1):
        if _CONTAINER.fullmatch(part):
            return PurePosixPath(*path.parts[:depth])
    return path


def _common(every: Iterable[PurePosixPath]) -> tuple[PurePosixPath | None, str]:
    """Give the one group that holds all of them; the pod's for several containers of one pod."""
    groups = set(every)
    tops = {one for one in groups if groups.isdisjoint(one.parents)}
    above = {one.parent for one in tops}
    if len(tops) > 1 and len(above) == 1 and _POD.fullmatch(next(iter(above)).name):
        tops = above
    if len(tops) > 1:
        return None, _("its processes are in several control groups")
    group = next(iter(tops), None)
    if group is None or group == PurePosixPath("/"):
        return None, _("the server has no control group of its own")
    return group, ""


def _is_contained(group: PurePosixPath) -> bool:
    """Whether a group is a container's or a pod's."""
    return bool(_CONTAINER.fullmatch(group.name) or _POD.fullmatch(group.name))


def _is_shared(folder: Path, others: Collection[int]) -> bool:
    """Whether anybody else is in a group, or it has more below it than can be looked into."""
    for number, one in enumerate(_below(folder)):
        if number >= MOST_BELOW or not _processes(one).isdisjoint(others):
            return True
    return False


def _below(folder: Path) -> Iterator[Path]:
    """Give a group and all groups in it; those that vanish meanwhile are left out."""
    for at, _folders, _files in os.walk(folder):
        yield Path(at)


def _processes(folder: Path) -> set[int]:
    try:
        return {int(one) for one in (folder / "cgroup.procs").read_text("ascii").split()}
    except (OSError, ValueError):
        return set()
