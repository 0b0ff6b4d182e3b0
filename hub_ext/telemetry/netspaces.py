"""Bytes in and out of servers that have a network of their own, as pods do."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ..lease import LeaseId

PROC = Path("/proc")

LOOPBACK = "lo"

_RECEIVED, _SENT = 0, 8
"""Columns of `/proc/PID/net/dev` behind the interface's name."""


def namespaces(
    members: Iterable[tuple[int, LeaseId]], proc: Path = PROC
) -> Mapping[LeaseId, Mapping[int, int]]:
    """Read for each lease the bytes so far of every network namespace that is its alone.

    The node's own network, and one that two leases share, say nothing of one of them. What may not
    be read is left out.
    """
    common = {_space(proc, name) for name in ("1", "self")}
    owners: dict[int, set[LeaseId]] = {}
    doors: dict[int, int] = {}
    for pid, lease_id in members:
        space = _space(proc, str(pid))
        if space is not None and space not in common:
            owners.setdefault(space, set()).add(lease_id)
            doors.setdefault(space, pid)
    found: dict[LeaseId, dict[int, int]] = {}
    for space, leases in owners.items():
        if len(leases) > 1:
            continue
        with suppress(OSError, ValueError, IndexError):
            moved = moved_bytes((proc / str(doors[space]) / "net" / "dev").read_text("ascii"))
            found.setdefault(next(iter(leases)), {})[space] = moved
    return found


def moved_bytes(table: str) -> int:
    """Sum what all interfaces but the loopback received and sent, from the text of `net/dev`.

    Raises
    ------
    ValueError, IndexError
        It is no such table.
    """
    moved = 0
    for row in table.splitlines()[2:]:
        name, _colon, rest = row.partition(":")
        if name.strip() != LOOPBACK:
            figures = rest.split()
            moved += int(figures[_RECEIVED]) + int(figures[_SENT])
    return moved


def _space(proc: Path, pid: str) -> int | None:
    """Number of a process's network namespace; None where it may not be read."""
    try:
        return (proc / pid / "ns" / "net").stat().st_ino
    except OSError:
        return None
