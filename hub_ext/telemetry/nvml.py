"""NVIDIA's own figures, through the real `pynvml`, which only the files `nvml*` here import.

Every call can block in the kernel for good, so this runs only in the child that `guarded` ends.
A figure that the driver does not offer is None with a reason, never 0.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import pynvml

from ..errors import GpuCommonsError, IntruderError
from ..i18n import _
from ..lease import Device, DeviceHealth, DeviceId, DeviceSample, Inventory, PoolName
from .nvml_faults import FaultWatch
from .nvml_gpm import GpmMeter
from .nvml_topology import wired
from .sample import Reading, absent_sample

ROUNDS_PER_DISCOVERY = 12
"""Everything is looked up anew once a minute at a period of 5 s; between, handles are kept."""

MOST_MEMORY_BYTES = 2**44
"""16 TiB: a driver that says more has written another struct than we read."""

_MIG_NAME = re.compile(r"MIG ((?:\d+c\.)?\d+g\.\d+gb\S*)")

T = TypeVar("T")

_STALE = {pynvml.NVML_ERROR_INVALID_ARGUMENT, pynvml.NVML_ERROR_NOT_FOUND}
_LOST = {pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED}


class DriverReplacedError(GpuCommonsError):
    """The driver was upgraded under this process; only a new process can load the new library."""


@dataclass
class _Slot:
    """A device with the handles to ask it by, and the UUID of its GPU.

    `fault` says why it cannot be asked now.
    """

    device: Device
    handle: Any
    parent: Any
    gpu: str
    instance: int | None
    fault: str = ""


def check_bindings(module: Any = pynvml) -> None:  # noqa: ANN401 - whatever answers to the name
    """Make sure that NVIDIA's bindings answer to `pynvml`, not the old package of that name.

    Raises
    ------
    IntruderError
        The look-alike was imported; says what to uninstall.
    """
    path = str(getattr(module, "__file__", None))
    if not path.endswith("pynvml.py") or not hasattr(module, "nvmlGpmMigSampleGet"):
        raise IntruderError(
            _(
                "pynvml is {path}, which is not NVIDIA's nvidia-ml-py of 13.580 or newer. "
                "Run `pip uninstall pynvml` and then `pip install --force-reinstall nvidia-ml-py`."
            ).format(path=path)
        )


class Driver:
    """One node's GPUs as the driver shows them, with handles kept between rounds."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._open = False
        self._round = 0
        self._stale = True
        self._slots: dict[int, list[_Slot]] = {}
        self._problems: list[str] = []
        self._gpm = GpmMeter()
        self._faults = FaultWatch()

    def read(self, now: datetime) -> Reading:
        """Read everything once.

        Raises
        ------
        DriverReplacedError
            This process must end.
        """
        try:
            if not self._open:
                pynvml.nvmlInit()
                self._open, self._stale = True, True
                self._faults.forget()
            if self._stale or self._round % ROUNDS_PER_DISCOVERY == 0:
                self._discover()
        except pynvml.NVMLError as error:
            self._open = False
            return self._all_absent(now, _words(error))
        self._round += 1
        samples = tuple(self._sample(slot, now) for slots in self._slots.values() for slot in slots)
        return Reading(
            inventory=self._inventory(now), devices=samples, health=tuple(self._health(now))
        )

    def _health(self, now: datetime) -> Iterator[DeviceHealth]:
        """Tell what speaks against each device; nothing of a device that cannot be asked."""
        self._faults.hear(now)
        for slots in self._slots.values():
            asked = [slot for slot in slots if not slot.fault]
            signs = self._faults.signs(asked[0].gpu, asked[0].parent, now) if asked else None
            if signs is not None:
                yield from (DeviceHealth(device=slot.device.id, signs=signs) for slot in asked)

    def _inventory(self, now: datetime) -> Inventory:
        slots = [slot for slots in self._slots.values() for slot in slots]
        problems = [*self._problems, *(f"{s.device.id}: {s.fault}" for s in slots if s.fault)]
        return Inventory(
            node=self._node,
            source="nvml",
            at=now,
            devices=tuple(slot.device for slot in slots if not slot.fault),
            problem="; ".join(problems),
        )

    def _all_absent(self, now: datetime, reason: str) -> Reading:
        known = [slot.device.id for slots in self._slots.values() for slot in slots]
        return Reading(
            inventory=Inventory(
                node=self._node,
                source="nvml",
                at=now,
                devices=(),
                problem=_("NVML cannot be used: {why}").format(why=reason),
            ),
            devices=tuple(absent_sample(device, now, reason) for device in known),
        )

    def _discover(self) -> None:
        """Look up every GPU and MIG device; what is lost keeps its place, with its fault."""
        self._stale = False
        self._problems = []
        count = pynvml.nvmlDeviceGetCount()
        former, self._slots = self._slots, {}
        for index in range(count):
            try:
                self._slots[index] = list(self._gpu(index))
            except pynvml.NVMLError as error:
                reason = _words(error)
                self._slots[index] = former.get(index, [])
                for slot in self._slots[index]:
                    slot.fault = reason
                if not self._slots[index]:
                    self._problems.append(_("GPU {index}: {why}").format(index=index, why=reason))
        self._wire()
        slots = [slot for slots in self._slots.values() for slot in slots]
        self._gpm.keep_only(slot.device.id for slot in slots)
        self._faults.keep_only({slot.gpu for slot in slots if not slot.fault})
        for slot in slots:
            if not slot.fault:
                self._faults.follow(slot.gpu, slot.parent)

    def _wire(self) -> None:
        """Say of whole GPUs how they are joined, where there are several."""
        whole = {
            index: slots[0]
            for index, slots in self._slots.items()
            if len(slots) == 1 and slots[0].instance is None and not slots[0].fault
        }
        for index, groups in wired({index: one.handle for index, one in whole.items()}).items():
            slot = whole[index]
            slot.device = slot.device.model_copy(update={"wired": groups})

    def _gpu(self, index: int) -> Iterator[_Slot]:
        parent = pynvml.nvmlDeviceGetHandleByIndex(index)
        model = str(pynvml.nvmlDeviceGetName(parent))
        gpu = str(pynvml.nvmlDeviceGetUUID(parent))
        if not _cut(parent):
            device = Device(
                id=DeviceId(gpu),
                pool=PoolName(""),
                node=self._node,
                gpu=index,
                model=model,
            )
            yield _Slot(device, parent, parent, gpu, None)
            return
        for position in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
            try:
                handle = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, position)
            except pynvml.NVMLError as error:
                # The indexes have holes where no instance is.
                if error.value not in _STALE:
                    raise
                continue
            slot = self._instance(index, model, parent, handle)
            slot.gpu = gpu
            yield slot

    def _instance(self, index: int, model: str, parent: Any, handle: Any) -> _Slot:  # noqa: ANN401 - ctypes handles
        instance = int(pynvml.nvmlDeviceGetGpuInstanceId(handle))
        start, size = _placement(parent, instance)
        device = Device(
            id=DeviceId(pynvml.nvmlDeviceGetUUID(handle)),
            pool=PoolName(""),
            node=self._node,
            gpu=index,
            model=model,
            mig_profile=_mig_profile(handle),
            start=start,
            size=size,
        )
        return _Slot(device, handle, parent, "", instance)

    def _sample(self, slot: _Slot, now: datetime) -> DeviceSample:
        if slot.fault:
            self._stale = True
            return absent_sample(slot.device.id, now, slot.fault)
        if slot.instance is not None:
            # A MIG handle may come to mean another instance; only the UUID says which one.
            uuid, reason = self._ask(slot, lambda: pynvml.nvmlDeviceGetUUID(slot.handle))
            if uuid != slot.device.id:
                self._stale = True
                why = reason or _("its place was cut anew; it is looked up again")
                return absent_sample(slot.device.id, now, why)
        percent, no_percent = self._utilisation(slot)
        memory, no_memory = self._ask(slot, lambda: _memory(slot.handle))
        used, total = memory or (None, None)
        return DeviceSample(
            device=slot.device.id,
            at=now,
            util_percent=percent,
            memory_used_bytes=used,
            memory_total_bytes=total,
            absent="; ".join(
                text.format(why=why)
                for text, why in (
                    (_("utilisation: {why}"), no_percent),
                    (_("memory: {why}"), no_memory),
                )
                if why
            ),
        )

    def _utilisation(self, slot: _Slot) -> tuple[int | None, str]:
        if slot.instance is None:
            return self._ask(slot, lambda: _whole_percent(slot.handle))
        instance = slot.instance
        result, reason = self._ask(
            slot, lambda: self._gpm.percent(slot.device.id, slot.parent, instance)
        )
        return (None, reason) if result is None else result

    def _ask(self, slot: _Slot, call: Callable[[], T]) -> tuple[T | None, str]:
        """Make one call; None with a reason when the driver refuses or answers nonsense."""
        try:
            return call(), ""
        except pynvml.NVMLError as error:
            if error.value in _STALE or error.value in _LOST:
                self._stale = True
            if error.value in _LOST:
                slot.fault = _words(error)
            if error.value == pynvml.NVML_ERROR_UNINITIALIZED:
                self._open = False
            return None, _words(error)
        except ValueError as error:
            return None, str(error)


def _cut(parent: Any) -> bool:  # noqa: ANN401 - a ctypes handle
    """Whether MIG is on; a GPU that does not know MIG is whole."""
    try:
        return bool(pynvml.nvmlDeviceGetMigMode(parent)[0] == pynvml.NVML_DEVICE_MIG_ENABLE)
    except pynvml.NVMLError as error:
        if error.value in {pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND}:
            return False
        raise


def _placement(parent: Any, instance: int) -> tuple[int | None, int | None]:  # noqa: ANN401 - a ctypes handle
    """Start and size on the placement axis; None where only root may ask and we are not."""
    try:
        handle = pynvml.nvmlDeviceGetGpuInstanceById(parent, instance)
        place = pynvml.nvmlGpuInstanceGetInfo(handle).placement
    except pynvml.NVMLError:
        return None, None
    return int(place.start), int(place.size)


def _mig_profile(handle: Any) -> str:  # noqa: ANN401 - a ctypes handle
    """MIG profile of a device, from its name, else from its slices and memory."""
    found = _MIG_NAME.search(str(pynvml.nvmlDeviceGetName(handle)))
    if found is not None:
        return found[1]
    has = pynvml.nvmlDeviceGetAttributes_v2(handle)
    return f"{has.gpuInstanceSliceCount}g.{round(has.memorySizeMB / 1024)}gb"


def _whole_percent(handle: Any) -> int:  # noqa: ANN401 - a ctypes handle
    percent = int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)
    if percent > 200:  # noqa: PLR2004 - drivers overshoot 100 now and then, not twofold
        raise ValueError(_("the driver says {value} %").format(value=percent))
    return min(percent, 100)


def _memory(handle: Any) -> tuple[int, int]:  # noqa: ANN401 - a ctypes handle
    """Used and total bytes. The second version leaves out what the driver keeps for itself."""
    try:
        has = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    except pynvml.NVMLError as error:
        if error.value not in {
            pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
        }:
            raise
        has = pynvml.nvmlDeviceGetMemoryInfo(handle)
    used, total = int(has.used), int(has.total)
    if not 0 <= used <= total <= MOST_MEMORY_BYTES or not total:
        raise ValueError(
            _("the driver says {used} of {total} bytes").format(used=used, total=total)
        )
    return used, total


def _words(error: Any) -> str:  # noqa: ANN401 - pynvml's errors have no types
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
