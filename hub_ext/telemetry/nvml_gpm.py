"""What GPUs and MIG devices did between two samples, which NVML tells from Hopper on.

Only called from `nvml`, in the child process. Keyed by UUID: an id of an instance is used again.
"""

import ctypes
import math
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pynvml

from ..i18n import _
from ..lease import DeviceId
from .nvml_hot import function

SHORTEST_S = 0.1
"""NVIDIA's header: two samples are at least 100 ms apart."""


class _Question(NamedTuple):
    """A question to the driver, 19 KB of it: made once, as making it costs more than asking."""

    asked: Any
    at: Any
    rows: struct.Struct
    begin: int
    """Where in `asked` the answers stand, one after the other."""


@dataclass
class _Pair:
    """Two samples of the driver, written in turn, and a question for each order of them."""

    older: Any
    newer: Any
    next: _Question
    then: _Question
    taken_s: float | None = None

    def turn(self) -> None:
        """Let the sample that was just written be the newer one."""
        self.older, self.newer = self.newer, self.older
        self.next, self.then = self.then, self.next


class Gpm(NamedTuple):
    """What a device did between two samples: percent, and KiB a second; None is not told."""

    percent: int | None
    sm_percent: int | None
    dram_percent: int | None
    pcie_kib_s: int | None


NO_GPM = Gpm(None, None, None, None)

_ROW = "Iid24x"
"""Metric, error and value of a row of an answer, and what the row says of itself."""


class GpmMeter:
    """Keeps the samples of each device between rounds."""

    def __init__(self) -> None:
        self._pairs: dict[DeviceId, _Pair] = {}
        self._get: Callable[..., int] | None = None
        self._ask: Callable[..., int] | None = None

    def keep_only(self, devices: Iterable[DeviceId]) -> None:
        """Free the samples of devices that are gone."""
        for gone in self._pairs.keys() - set(devices):
            pair = self._pairs.pop(gone)
            for sample in (pair.older, pair.newer):
                pynvml.nvmlGpmSampleFree(sample)

    def figures(
        self,
        device: DeviceId,
        parent: Any,  # noqa: ANN401 - a ctypes handle
        instance: int | None,
    ) -> tuple[Gpm | None, str]:
        """What the device did since the former call; None with a reason where that is not known.

        Raises
        ------
        pynvml.NVMLError
            The driver refuses.
        ValueError
            The driver's figure of utilisation is none.
        """
        pair = self._pairs.get(device)
        if pair is None:
            if not pynvml.nvmlGpmQueryDeviceSupport(parent).isSupportedDevice:
                return None, _("this GPU model has no figure for MIG devices")
            pair = self._pairs[device] = _pair(whole=instance is None)
        now_s = time.monotonic()
        if pair.taken_s is not None and now_s - pair.taken_s < SHORTEST_S:
            return None, _("read too soon after the former reading")
        if instance is None:
            pynvml.nvmlGpmSampleGet(parent, pair.older)
        else:
            self._take(parent, instance, pair.older)
        first, pair.taken_s = pair.taken_s is None, now_s
        pair.turn()
        if first:
            return None, _("first reading; the next one tells")
        return self._between(pair.next, whole=instance is None), ""

    def _take(self, parent: Any, instance: int, sample: Any) -> None:  # noqa: ANN401 - ctypes handles
        if self._get is None:
            self._get = function("nvmlGpmMigSampleGet")
        code = self._get(parent, instance, sample)
        if code:
            raise pynvml.NVMLError(code)

    def _between(self, question: _Question, *, whole: bool) -> Gpm:
        if self._ask is None:
            self._ask = function("nvmlGpmMetricsGet")
        code = self._ask(question.at)
        if code:
            raise pynvml.NVMLError(code)
        # Metric, error and value of each in turn.
        row = question.rows.unpack_from(question.asked, question.begin)
        if row[1]:
            raise pynvml.NVMLError(row[1])
        percent = _percent(row[2])
        if percent is None:
            raise ValueError(_("the driver says {value} %").format(value=row[2]))
        sm, dram = None if row[4] else _percent(row[5]), None if row[7] else _percent(row[8])
        if not whole:
            return Gpm(percent, sm, dram, None)
        return Gpm(percent, sm, dram, _kib([None if row[n] else row[n + 1] for n in (10, 13)]))


def _pair(*, whole: bool) -> _Pair:
    wanted = [
        pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL,
        pynvml.NVML_GPM_METRIC_SM_UTIL,
        pynvml.NVML_GPM_METRIC_DRAM_BW_UTIL,
        # A MIG device has no bus of its own.
        *([pynvml.NVML_GPM_METRIC_PCIE_TX_PER_SEC] if whole else []),
        *([pynvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC] if whole else []),
    ]
    one, other = pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()
    return _Pair(one, other, _question(one, other, wanted), _question(other, one, wanted))


def _question(older: Any, newer: Any, wanted: list[int]) -> _Question:  # noqa: ANN401 - ctypes handles
    asked = pynvml.c_nvmlGpmMetricsGet_t()
    asked.version = pynvml.NVML_GPM_METRICS_GET_VERSION
    asked.numMetrics = len(wanted)
    asked.sample1, asked.sample2 = older, newer
    rows = [asked.metrics[number] for number in range(len(wanted))]
    for row, metric in zip(rows, wanted, strict=True):
        row.metricId = metric
    begin = ctypes.addressof(rows[0]) - ctypes.addressof(asked)
    return _Question(asked, ctypes.byref(asked), struct.Struct(_ROW * len(wanted)), begin)


def _percent(value: float | None) -> int | None:
    """Round a share; None for what is none. On MIG it overshoots 100, never twofold."""
    if value is None or not math.isfinite(value) or not 0 <= value <= 200:  # noqa: PLR2004
        return None
    return min(round(value), 100)


def _kib(both_ways: list[float | None]) -> int | None:
    """Add up MiB a second of both directions; None where one is not told."""
    known = [one for one in both_ways if one is not None and math.isfinite(one) and one >= 0]
    return round(sum(known) * 1024) if len(known) == len(both_ways) else None
