"""Processes on the devices of a GPU, as NVML lists them, looked over before they are believed.

Only called from `nvml`, in the child process. A driver once changed the record's layout without a
new name for it, so one row that cannot be makes the whole list unknown.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..i18n import _
from ..lease import DeviceId
from .nvml_hot import HotCalls, Row
from .sample import DeviceProcess

MOST_PID = 1 << 22
"""Linux gives no larger process ids."""

MOST_INSTANCES = 64
NO_INSTANCE = 0xFFFFFFFF


class Listed(NamedTuple):
    """A device and its instance; None for a whole GPU. `total` is its memory in bytes."""

    device: DeviceId
    instance: int | None
    total: int | None


class Counted(NamedTuple):
    """Processes on a device now, and how many came or went since the former look."""

    processes: int
    changes: int | None


class ProcessList:
    """Remembers which processes were on each device."""

    def __init__(self, hot: HotCalls) -> None:
        self._hot = hot
        self._former: dict[DeviceId, frozenset[int]] = {}
        self.found: list[DeviceProcess] = []
        """What the newest round found, on all devices that could be asked."""
        self.wrong = 0
        """Lists that were not believed, since the process began."""

    def begin(self) -> None:
        """Begin a round."""
        self.found = []

    def keep_only(self, devices: Iterable[DeviceId]) -> None:
        """Forget devices that are gone."""
        kept = set(devices)
        self._former = {one: pids for one, pids in self._former.items() if one in kept}

    def look(self, handle: Any, devices: Iterable[Listed]) -> dict[DeviceId, Counted]:  # noqa: ANN401 - a ctypes handle
        """List what runs on a GPU, or on one MIG device, in one call.

        Raises
        ------
        pynvml.NVMLError
            The driver refuses; where it did, nothing is known.
        ValueError
            A row cannot be.
        """
        asked = tuple(devices)
        rows = self._hot.processes(handle)
        try:
            of = _sorted_out(rows, asked)
        except ValueError:
            self.wrong += 1
            for one in asked:
                self._former.pop(one.device, None)
            raise
        found = {}
        for one in asked:
            pids = frozenset(of[one.device])
            former = self._former.get(one.device)
            self._former[one.device] = pids
            self.found += of[one.device].values()
            found[one.device] = Counted(len(pids), None if former is None else len(pids ^ former))
        return found


def _sorted_out(
    rows: Iterable[Row], asked: Iterable[Listed]
) -> dict[DeviceId, dict[int, DeviceProcess]]:
    """Give each device its processes by pid.

    Raises
    ------
    ValueError
        A row cannot be.
    """
    whole = {one.instance: one for one in asked}
    found: dict[DeviceId, dict[int, DeviceProcess]] = {one.device: {} for one in asked}
    for row in rows:
        instance = row.instance
        if instance != NO_INSTANCE and not 0 <= instance < MOST_INSTANCES:
            raise ValueError(_("the driver names instance {n}").format(n=instance))
        one = whole.get(None) or whole.get(instance)
        if one is None:
            continue
        _check(row, one.total)
        found[one.device][row.pid] = DeviceProcess(
            device=one.device, pid=row.pid, memory_bytes=row.used
        )
    return found


def _check(row: Row, total: int | None) -> None:
    if not 0 < row.pid < MOST_PID:
        raise ValueError(_("the driver names process {pid}").format(pid=row.pid))
    if row.used is not None and total is not None and row.used > total:
        raise ValueError(_("the driver says a process has {n} bytes").format(n=row.used))
