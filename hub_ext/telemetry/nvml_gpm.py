"""What GPUs and MIG devices did between two samples, which NVML tells from Hopper on.

Only called from `nvml`, in the child process. Keyed by UUID: an id of an instance is used again.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pynvml

from ..i18n import _
from ..lease import DeviceId

SHORTEST_S = 0.1
"""NVIDIA's header: two samples are at least 100 ms apart."""


@dataclass
class _Pair:
    """Two samples of the driver, written in turn."""

    older: Any
    newer: Any
    asked: Any
    """The question to the driver, 13 KB of it: made once, as making it costs more than asking."""
    rows: tuple[Any, ...]
    """The parts of `asked` that its answer stands in, one a metric."""
    taken_s: float | None = None


class Gpm(NamedTuple):
    """What a device did between two samples: percent, and KiB a second; None is not told."""

    percent: int
    sm_percent: int | None
    dram_percent: int | None
    pcie_kib_s: int | None


class GpmMeter:
    """Keeps the samples of each device between rounds."""

    def __init__(self) -> None:
        self._pairs: dict[DeviceId, _Pair] = {}

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
            pynvml.nvmlGpmMigSampleGet(parent, instance, pair.older)
        first, pair.taken_s = pair.taken_s is None, now_s
        pair.older, pair.newer = pair.newer, pair.older
        if first:
            return None, _("first reading; the next one tells")
        return _between(pair, whole=instance is None), ""


def _pair(*, whole: bool) -> _Pair:
    wanted = [
        pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL,
        pynvml.NVML_GPM_METRIC_SM_UTIL,
        pynvml.NVML_GPM_METRIC_DRAM_BW_UTIL,
        # A MIG device has no bus of its own.
        *([pynvml.NVML_GPM_METRIC_PCIE_TX_PER_SEC] if whole else []),
        *([pynvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC] if whole else []),
    ]
    asked = pynvml.c_nvmlGpmMetricsGet_t()
    asked.version = pynvml.NVML_GPM_METRICS_GET_VERSION
    asked.numMetrics = len(wanted)
    rows = tuple(asked.metrics[number] for number in range(len(wanted)))
    for row, metric in zip(rows, wanted, strict=True):
        row.metricId = metric
    return _Pair(pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc(), asked, rows)


def _between(pair: _Pair, *, whole: bool) -> Gpm:
    pair.asked.sample1, pair.asked.sample2 = pair.older, pair.newer
    pynvml.nvmlGpmMetricsGet(pair.asked)
    code = pair.rows[0].nvmlReturn
    if code != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(code)
    value = float(pair.rows[0].value)
    percent = _percent(value)
    if percent is None:
        raise ValueError(_("the driver says {value} %").format(value=value))
    told = [
        float(row.value) if row.nvmlReturn == pynvml.NVML_SUCCESS else None for row in pair.rows[1:]
    ]
    pcie = [] if not whole else told[2:]
    return Gpm(percent, _percent(told[0]), _percent(told[1]), _kib(pcie))


def _percent(value: float | None) -> int | None:
    """Round a share; None for what is none. On MIG it overshoots 100, never twofold."""
    if value is None or not math.isfinite(value) or not 0 <= value <= 200:  # noqa: PLR2004
        return None
    return min(round(value), 100)


def _kib(both_ways: list[float | None]) -> int | None:
    """Add up MiB a second of both directions; None where one is not told."""
    if not both_ways:
        return None
    known = [one for one in both_ways if one is not None and math.isfinite(one) and one >= 0]
    return round(sum(known) * 1024) if len(known) == len(both_ways) else None
