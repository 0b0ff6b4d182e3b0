"""Utilisation of MIG devices, which NVML gives from Hopper on, as a difference of two samples.

Only called from `nvml`, in the child process. Keyed by UUID: an id of an instance is used again.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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
    taken_s: float | None = None


class GpmMeter:
    """Keeps the samples of each MIG device between rounds."""

    def __init__(self) -> None:
        self._pairs: dict[DeviceId, _Pair] = {}

    def keep_only(self, devices: Iterable[DeviceId]) -> None:
        """Free the samples of devices that are gone."""
        for gone in self._pairs.keys() - set(devices):
            pair = self._pairs.pop(gone)
            for sample in (pair.older, pair.newer):
                pynvml.nvmlGpmSampleFree(sample)

    def percent(
        self,
        device: DeviceId,
        parent: Any,  # noqa: ANN401 - a ctypes handle
        instance: int,
    ) -> tuple[int | None, str]:
        """Share of the time since the former call in which the device computed.

        Raises
        ------
        pynvml.NVMLError
            The driver refuses.
        ValueError
            The driver's figure is none.
        """
        pair = self._pairs.get(device)
        if pair is None:
            if not pynvml.nvmlGpmQueryDeviceSupport(parent).isSupportedDevice:
                return None, _("this GPU model has no figure for MIG devices")
            pair = _Pair(pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc())
            self._pairs[device] = pair
        now_s = time.monotonic()
        if pair.taken_s is not None and now_s - pair.taken_s < SHORTEST_S:
            return None, _("read too soon after the former reading")
        pynvml.nvmlGpmMigSampleGet(parent, instance, pair.older)
        first, pair.taken_s = pair.taken_s is None, now_s
        pair.older, pair.newer = pair.newer, pair.older
        if first:
            return None, _("first reading; the next one tells")
        return _between(pair), ""


def _between(pair: _Pair) -> int:
    asked = pynvml.c_nvmlGpmMetricsGet_t()
    asked.version = pynvml.NVML_GPM_METRICS_GET_VERSION
    asked.numMetrics = 1
    asked.sample1, asked.sample2 = pair.older, pair.newer
    asked.metrics[0].metricId = pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL
    answer = pynvml.nvmlGpmMetricsGet(asked).metrics[0]
    if answer.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(answer.nvmlReturn)
    value = float(answer.value)
    if not math.isfinite(value) or not 0 <= value <= 200:  # noqa: PLR2004 - overshoots 100 on MIG
        raise ValueError(_("the driver says {value} %").format(value=value))
    return min(round(value), 100)
