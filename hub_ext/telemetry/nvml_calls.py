"""Single questions to NVML, with what older drivers and GPUs answer to them taken care of.

Only called from `nvml`, in the child process. What cannot be is a `ValueError` in words.
"""

import re
from typing import Any

import pynvml

from ..i18n import _

MOST_MEMORY_BYTES = 2**44
"""16 TiB: a driver that says more has written another struct than we read."""

_NOT_KNOWN = frozenset({pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND})
"""Answers of drivers and GPUs that are too old for a question."""

_MIG_NAME = re.compile(r"MIG ((?:\d+c\.)?\d+g\.\d+gb\S*)")


def cut(parent: Any) -> bool:  # noqa: ANN401 - a ctypes handle
    """Whether MIG is on; a GPU that does not know MIG is whole."""
    try:
        return bool(pynvml.nvmlDeviceGetMigMode(parent)[0] == pynvml.NVML_DEVICE_MIG_ENABLE)
    except pynvml.NVMLError as error:
        if error.value in _NOT_KNOWN:
            return False
        raise


def virtual(handle: Any) -> bool | None:  # noqa: ANN401 - a ctypes handle
    """Whether a hypervisor lets this machine have a part of a GPU; None where nobody tells.

    A GPU that is passed through is a real one: nobody else has it.
    """
    try:
        mode = int(pynvml.nvmlDeviceGetVirtualizationMode(handle))
    except pynvml.NVMLError as error:
        if error.value in _NOT_KNOWN:
            return None
        raise
    return bool(mode == pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU)


def placement(parent: Any, instance: int) -> tuple[int | None, int | None]:  # noqa: ANN401 - a ctypes handle
    """Start and size on the placement axis; None where only root may ask and we are not."""
    try:
        handle = pynvml.nvmlDeviceGetGpuInstanceById(parent, instance)
        place = pynvml.nvmlGpuInstanceGetInfo(handle).placement
    except pynvml.NVMLError:
        return None, None
    return int(place.start), int(place.size)


def mig_profile(handle: Any) -> str:  # noqa: ANN401 - a ctypes handle
    """MIG profile of a device, from its name, else from its slices and memory."""
    found = _MIG_NAME.search(str(pynvml.nvmlDeviceGetName(handle)))
    if found is not None:
        return found[1]
    has = pynvml.nvmlDeviceGetAttributes_v2(handle)
    return f"{has.gpuInstanceSliceCount}g.{round(has.memorySizeMB / 1024)}gb"


def whole_percent(handle: Any) -> int:  # noqa: ANN401 - a ctypes handle
    """Share of time in which any kernel ran, on a GPU that is not cut."""
    percent = int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    if percent > 200:  # noqa: PLR2004 - drivers overshoot 100 now and then, not twofold
        raise ValueError(_("the driver says {value} %").format(value=percent))
    return min(percent, 100)


def memory(handle: Any) -> tuple[int, int]:  # noqa: ANN401 - a ctypes handle
    """Used and total bytes of drivers that do not know the second version of the question.

    The second leaves out what the driver keeps for itself; see `nvml_hot`.
    """
    has = pynvml.nvmlDeviceGetMemoryInfo(handle)
    return believed(int(has.used), int(has.total))


def believed(used: int, total: int) -> tuple[int, int]:
    """Give what a driver says of its memory, where that can be.

    Raises
    ------
    ValueError
        It cannot.
    """
    if not 0 <= used <= total <= MOST_MEMORY_BYTES or not total:
        raise ValueError(
            _("the driver says {used} of {total} bytes").format(used=used, total=total)
        )
    return used, total
