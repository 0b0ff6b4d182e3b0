"""What the driver tells of a GPU's faults: uncorrected memory errors, Xids, a wish to be reset.

Only called from `nvml`, in the child process. Keyed by the UUID of the whole GPU: its MIG devices
share its fate. It judges nothing; what could not be asked is unknown, never sound.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pynvml

from ..lease import FaultSign

MOST_EVENTS = 64
"""Events taken in one round; a storm of them must not hold up the figures."""

_NOT_OFFERED = {
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
}


@dataclass
class _Known:
    """Signs of one GPU by kind and code; `looked_at` is when it was last asked."""

    looked_at: datetime | None = None
    xids: dict[int, datetime] = field(default_factory=dict)
    levels: dict[str, FaultSign] = field(default_factory=dict)


class FaultWatch:
    """Remembers Xids since this process began, and since when each figure is what it is."""

    def __init__(self) -> None:
        self._events: Any | None = None
        self._known: dict[str, _Known] = {}
        self._heard_at: datetime | None = None

    def forget(self) -> None:
        """Begin anew after the library was opened again: former event sets are gone with it."""
        self._events = None
        self._known = {}

    def keep_only(self, gpus: Collection[str]) -> None:
        """Drop GPUs that are not there any more; one that comes back is registered again."""
        for gone in self._known.keys() - set(gpus):
            del self._known[gone]

    def follow(self, gpu: str, parent: Any) -> None:  # noqa: ANN401 - a ctypes handle
        """Ask the driver to tell of Xids of a GPU; whoever does not offer it, tells of none."""
        if gpu in self._known:
            return
        self._known[gpu] = _Known()
        try:
            if self._events is None:
                self._events = pynvml.nvmlEventSetCreate()
            # MIG handles are not accepted for events: the whole GPU tells.
            pynvml.nvmlDeviceRegisterEvents(
                parent, pynvml.nvmlEventTypeXidCriticalError, self._events
            )
        except pynvml.NVMLError as error:
            if error.value not in _NOT_OFFERED | {pynvml.NVML_ERROR_NO_PERMISSION}:
                del self._known[gpu]

    def hear(self, now: datetime) -> None:
        """Take the events that have come; it does not wait for any."""
        former, self._heard_at = self._heard_at, now
        for _round in range(MOST_EVENTS if self._events is not None else 0):
            try:
                event = pynvml.nvmlEventSetWait_v2(self._events, 0)
                gpu = str(pynvml.nvmlDeviceGetUUID(event.device))
            except pynvml.NVMLError:
                # No more of them, as a rule by a time-out; a lost GPU says so elsewhere.
                return
            known = self._known.get(gpu)
            if known is not None and event.eventType == pynvml.nvmlEventTypeXidCriticalError:
                known.xids.setdefault(int(event.eventData), former or now)

    def signs(self, gpu: str, parent: Any, now: datetime) -> tuple[FaultSign, ...] | None:  # noqa: ANN401 - a ctypes handle
        """Ask a GPU for what speaks against it; None where it could not be asked."""
        known = self._known.get(gpu)
        if known is None:
            return None
        try:
            found = {"ecc": _asked(_uncorrected, parent), "recovery": _asked(_recovery, parent)}
        except pynvml.NVMLError:
            return None
        before, known.looked_at = known.looked_at or now, now
        for kind, code in found.items():
            last = known.levels.get(kind)
            if not code:
                known.levels.pop(kind, None)
            elif last is None or last.code != code:
                known.levels[kind] = FaultSign.model_validate(
                    {"kind": kind, "code": code, "since": before}
                )
        xids = (
            FaultSign(kind="xid", code=code, since=since)
            for code, since in sorted(dict(known.xids).items())
        )
        return (*known.levels.values(), *xids)


def _asked(call: Callable[[Any], int], parent: Any) -> int:  # noqa: ANN401 - a ctypes handle
    """Make a call; what the driver does not offer speaks against nothing."""
    try:
        return call(parent)
    except pynvml.NVMLError as error:
        if error.value in _NOT_OFFERED:
            return 0
        raise


def _uncorrected(parent: Any) -> int:  # noqa: ANN401 - a ctypes handle
    """Memory errors since the driver was loaded that could not be corrected."""
    return int(
        pynvml.nvmlDeviceGetTotalEccErrors(
            parent, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
        )
    )


def _recovery(parent: Any) -> int:  # noqa: ANN401 - a ctypes handle
    """What the driver recommends to do with the GPU; 0 is nothing."""
    [value] = pynvml.nvmlDeviceGetFieldValues(parent, [pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])
    if value.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(value.nvmlReturn)
    return int(value.value.uiVal)
