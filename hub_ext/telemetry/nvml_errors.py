"""What NVML's errors mean here. Only imported by the files `nvml*`, in the child process."""

from typing import Any

import pynvml

from ..errors import GpuCommonsError
from ..i18n import _

STALE = frozenset({pynvml.NVML_ERROR_INVALID_ARGUMENT, pynvml.NVML_ERROR_NOT_FOUND})
"""A handle came to mean nothing: look everything up anew."""

LOST = frozenset({pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED})


class DriverReplacedError(GpuCommonsError):
    """The driver was upgraded under this process; only a new process can load the new library."""


def words_of(error: Any) -> str:  # noqa: ANN401 - pynvml's errors have no types
    """Say an NVML error to an admin.

    Raises
    ------
    DriverReplacedError
        For the one error that this process cannot outlive.
    """
    code = int(error.value)
    if code == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        raise DriverReplacedError(
            _("the NVIDIA driver was replaced while it was in use; NVML is loaded again")
        )
    lost = _("the GPU is lost and needs a reset")
    no_driver = _("no NVIDIA driver is loaded on this node")
    no_access = _("access to the GPU was taken away; restart the container or the agent")
    known = {
        pynvml.NVML_ERROR_NOT_SUPPORTED: _("not supported by this GPU or driver"),
        pynvml.NVML_ERROR_NO_PERMISSION: _("no permission"),
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: _("the driver is too old for it"),
        pynvml.NVML_ERROR_GPU_IS_LOST: lost,
        pynvml.NVML_ERROR_RESET_REQUIRED: lost,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED: no_driver,
        pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: no_driver,
        pynvml.NVML_ERROR_UNKNOWN: no_access,
        pynvml.NVML_ERROR_OPERATING_SYSTEM: no_access,
    }
    return known.get(code) or _("NVML error {code} ({words})").format(code=code, words=error)
