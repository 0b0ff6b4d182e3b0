"""The calls that are made for every device in every round, without what the bindings add to each.

They make a new buffer for each call and decode it whole. Here buffers are kept, one set a GPU, as
only that GPU's thread uses them; functions, types and errors stay those of the bindings.
"""

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import pynvml

from .nvml_calls import believed, memory

_UUID_BYTES = 96
_MEMORY = struct.Struct("I4xQQQQ")
"""Version, total, reserved, free and used bytes of `c_nvmlMemory_v2_t`."""

_PROCESS = struct.Struct("I4xQII")
"""Pid, bytes and both instances of a process that computes, 24 bytes in every driver."""

NOT_TOLD = (1 << 64) - 1
"""Bytes of a process whose memory the driver does not tell."""

ROOM = 64
"""Processes that fit into the buffer; of more the bindings ask anew."""


class Row(NamedTuple):
    """A process as the driver lists it; `used` in bytes, None where it does not tell."""

    pid: int
    used: int | None
    instance: int


def function(name: str) -> Callable[..., int]:
    """Give a function of the driver, which answers with an error code.

    Raises
    ------
    pynvml.NVMLError
        The driver is too old for it.
    """
    # The bindings' own table has no public name; it is as old as they are.
    return cast("Callable[..., int]", pynvml._nvmlGetFunctionPointer(name))  # noqa: SLF001


class HotCalls:
    """Buffers of one GPU."""

    def __init__(self) -> None:
        self._uuid = ctypes.create_string_buffer(_UUID_BYTES)
        self._memory = pynvml.c_nvmlMemory_v2_t()
        self._memory.version = pynvml.nvmlMemory_v2
        self._size = ctypes.c_uint(_UUID_BYTES)
        self._at = ctypes.byref(self._memory)
        self._count = ctypes.c_uint(ROOM)
        self._counted = ctypes.byref(self._count)
        self._rows = ctypes.create_string_buffer(ROOM * _PROCESS.size)
        self._ask_processes: Callable[..., int] | None = None
        self._ask_uuid: Callable[..., int] | None = None
        self._ask_memory: Callable[..., int] | None = None
        self._first_only = False

    def uuid(self, handle: Any) -> bytes:  # noqa: ANN401 - a ctypes handle
        """UUID that a handle means now.

        Raises
        ------
        pynvml.NVMLError
            The driver refuses.
        """
        if self._ask_uuid is None:
            self._ask_uuid = function("nvmlDeviceGetUUID")
        code = self._ask_uuid(handle, self._uuid, self._size)
        if code:
            raise pynvml.NVMLError(code)
        return self._uuid.value

    def memory(self, handle: Any) -> tuple[int, int]:  # noqa: ANN401 - a ctypes handle
        """Used and total bytes.

        Raises
        ------
        pynvml.NVMLError
            The driver refuses.
        ValueError
            It says what cannot be.
        """
        if self._ask_memory is None:
            self._ask_memory = self._found_memory(handle)
        if self._first_only:
            return memory(handle)
        code = self._ask_memory(handle, self._at)
        if code:
            raise pynvml.NVMLError(code)
        _version, total, _reserved, _free, used = _MEMORY.unpack_from(self._memory)
        return believed(used, total)

    def processes(self, handle: Any) -> list[Row]:  # noqa: ANN401 - a ctypes handle
        """List what computes on a GPU or MIG device.

        Raises
        ------
        pynvml.NVMLError
            The driver refuses.
        """
        if self._ask_processes is None:
            self._ask_processes = function("nvmlDeviceGetComputeRunningProcesses_v3")
        self._count.value = ROOM
        code = self._ask_processes(handle, self._counted, self._rows)
        if code == pynvml.NVML_ERROR_INSUFFICIENT_SIZE:
            found = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
            return [Row(int(x.pid), x.usedGpuMemory, int(x.gpuInstanceId)) for x in found]
        if code:
            raise pynvml.NVMLError(code)
        rows = _PROCESS.iter_unpack(self._rows.raw[: self._count.value * _PROCESS.size])
        return [
            Row(pid, None if used == NOT_TOLD else used, instance)
            for pid, used, instance, _compute in rows
        ]

    def _found_memory(self, handle: Any) -> Callable[..., int]:  # noqa: ANN401 - a ctypes handle
        """Ask once whether the driver knows the second version of the question."""
        try:
            asked = function("nvmlDeviceGetMemoryInfo_v2")
        except pynvml.NVMLError as error:
            if error.value != pynvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                raise
            self._first_only = True
            return function("nvmlDeviceGetMemoryInfo")
        code = asked(handle, self._at)
        self._first_only = code == pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH
        return asked
