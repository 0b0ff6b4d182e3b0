"""What the kernel counts of one control group: CPU, memory, disks, and how long it waited for each.

v2 and v1 side by side; a file that is missing, vanished or rubbish leaves its figure None.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..i18n import _
from .cgroups import UNIFIED

_BLOCK = Path("/sys/dev/block")

_NO_LIMIT = 1 << 60
"""v1 writes "no limit" as the largest multiple of a page; nobody has an exabyte of memory."""

_US = 1_000_000

PRESSURES = ("cpu", "io", "memory")


class Counters(NamedTuple):
    """Figures of a group so far, or as of now; None where the kernel keeps none."""

    cpu_us: int | None = None
    periods: int | None = None
    throttled: int | None = None
    """Of `periods` of the CPU limit, those in which it was used up."""
    disk_bytes: int | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    memory_full: int | None = None
    """How often it was held back at a limit of its memory."""
    waited_us: Mapping[str, int] = MappingProxyType({})
    """Microseconds in which some of it waited, by `PRESSURES`."""
    no_pressure: str = ""
    """Why `waited_us` is empty."""


class Spent(NamedTuple):
    """What a group did between two reads; the names are those of `ProcessSample`."""

    cpu_millis: int | None
    disk_bytes_s: int | None
    memory_bytes: int | None
    memory_limit_bytes: int | None
    memory_full: int | None
    cpu_stalled_percent: int | None
    disk_stalled_percent: int | None
    memory_stalled_percent: int | None
    stalled_absent: str


def read(folders: Mapping[str, Path], block: Path = _BLOCK) -> Counters:
    """Read a group whose folder in each tree is given. Never raises."""
    new, old = folders.get(UNIFIED), folders
    cpu = _table(new, "cpu.stat") or {}
    throttle = cpu if "nr_periods" in cpu else _table(old.get("cpu"), "cpu.stat") or {}
    nanoseconds = _number(old.get("cpuacct"), "cpuacct.usage")
    waited, reason = _waited(new)
    return Counters(
        # v2 tells of CPU also where only v1 may limit it.
        cpu_us=_first(cpu.get("usage_usec"), None if nanoseconds is None else nanoseconds // 1000),
        periods=throttle.get("nr_periods"),
        throttled=throttle.get("nr_throttled"),
        disk_bytes=_first(_moved(new, block), _moved_v1(old.get("blkio"), block)),
        memory_bytes=_first(_held(new, "memory.current"), _held(old.get("memory"), _OLD_MEMORY)),
        memory_limit_bytes=_least(
            _number(new, "memory.max"), _number(old.get("memory"), "memory.limit_in_bytes")
        ),
        memory_full=_first(_held_back(new), _number(old.get("memory"), "memory.failcnt")),
        waited_us=waited,
        no_pressure=reason,
    )


def between(former: Counters, now: Counters, span_s: float) -> Spent:
    """Tell what a group did in `span_s` seconds, which are above 0.

    A counter that is missing, or began anew, leaves its figure None.
    """
    cpu_us = _grown(former.cpu_us, now.cpu_us)
    moved = _grown(former.disk_bytes, now.disk_bytes)
    stalled = {
        name: _share(_grown(former.waited_us.get(name), now.waited_us.get(name)), span_s * _US)
        for name in PRESSURES
    }
    # Without a limit there are no periods, and what a group waits for then is not counted here.
    limited = _grown(former.periods, now.periods) if now.periods else None
    throttled = _share(_grown(former.throttled, now.throttled), limited)
    return Spent(
        cpu_millis=None if cpu_us is None else round(cpu_us / span_s / 1000),
        disk_bytes_s=None if moved is None else round(moved / span_s),
        memory_bytes=now.memory_bytes,
        memory_limit_bytes=now.memory_limit_bytes,
        memory_full=_grown(former.memory_full, now.memory_full),
        cpu_stalled_percent=_first(stalled["cpu"], throttled),
        disk_stalled_percent=stalled["io"],
        memory_stalled_percent=stalled["memory"],
        stalled_absent=now.no_pressure,
    )


def _waited(folder: Path | None) -> tuple[dict[str, int], str]:
    """Read how long some of a group waited so far, from `total=` of each `some` line."""
    if folder is None:
        return {}, _("control groups of version 1 measure no waiting")
    found = {}
    for name in PRESSURES:
        for row in _rows(folder, f"{name}.pressure"):
            if row[0] == "some":
                with suppress(ValueError, KeyError):
                    found[name] = int(dict(_pairs(row[1:]))["total"])
    reason = _("this kernel measures no waiting; `psi=1` on its command line lets it")
    return found, "" if found else reason


def _moved(folder: Path | None, block: Path) -> int | None:
    """Bytes on disks by v2; a group that never used one has an empty file."""
    if folder is None or not (folder / "io.stat").is_file():
        return None
    moved = 0
    for row in _rows(folder, "io.stat"):
        figures = dict(_pairs(row[1:]))
        try:
            part = int(figures.get("rbytes", "0")) + int(figures.get("wbytes", "0"))
        except ValueError:
            return None
        moved += 0 if _is_stacked(block, row[0]) else part
    return moved


def _moved_v1(folder: Path | None, block: Path) -> int | None:
    for name in ("blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes"):
        if folder is None or not (folder / name).is_file():
            continue
        rows = [row for row in _rows(folder, name) if len(row) == 3]  # noqa: PLR2004 - device, way, bytes
        ways = [row for row in rows if row[1] in {"Read", "Write"}]
        try:
            return sum(int(row[2]) for row in ways if not _is_stacked(block, row[0]))
        except ValueError:
            return None
    return None


def _is_stacked(block: Path, device: str) -> bool:
    """Whether a device is made of others, such as a volume of LVM: theirs are counted as well."""
    with suppress(OSError):
        return any((block / device / "slaves").iterdir())
    return False


_OLD_MEMORY = "memory.usage_in_bytes"


def _held(folder: Path | None, name: str) -> int | None:
    """Memory in use, without files that the kernel may drop at any time; as the kubelet counts."""
    used = _number(folder, name)
    if used is None:
        return None
    table = _table(folder, "memory.stat") or {}
    return max(0, used - table.get("total_inactive_file", table.get("inactive_file", 0)))


def _held_back(folder: Path | None) -> int | None:
    events = _table(folder, "memory.events")
    if events is None or "high" not in events:
        return None
    return events["high"] + events.get("max", 0)


def _rows(folder: Path | None, name: str) -> list[list[str]]:
    """Words of each line of a file; nothing where it cannot be read."""
    if folder is None:
        return []
    try:
        text = (folder / name).read_text("ascii", "replace")
    except OSError:
        return []
    return [words for line in text.splitlines() if (words := line.split())]


def _table(folder: Path | None, name: str) -> dict[str, int] | None:
    """Read lines of a name and a number; None where there are none."""
    rows = [row for row in _rows(folder, name) if len(row) == 2]  # noqa: PLR2004 - name and number
    return {name: int(text) for name, text in rows if text.isdecimal()} or None


def _number(folder: Path | None, name: str) -> int | None:
    """Read a file of one number; None for "max" and what stands for it."""
    rows = _rows(folder, name)
    if len(rows) != 1 or len(rows[0]) != 1 or not rows[0][0].isdecimal():
        return None
    number = int(rows[0][0])
    return number if number < _NO_LIMIT else None


def _pairs(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((name, text) for name, _mark, text in (word.partition("=") for word in words))


def _first(one: int | None, other: int | None) -> int | None:
    return other if one is None else one


def _least(*every: int | None) -> int | None:
    return min((one for one in every if one is not None), default=None)


def _grown(before: int | None, now: int | None) -> int | None:
    """How much a counter grew; None where it fell, as that of a new group of the same name does."""
    return None if before is None or now is None or now < before else now - before


def _share(part: int | None, whole: float | None) -> int | None:
    if part is None or whole is None:
        return None
    return min(100, round(100 * part / whole)) if whole > 0 else 0
