"""NVIDIA's own figures, through the real `pynvml`, which only the files `nvml*` here import.

Every call can block in the kernel for good, so this runs only in the child that `guarded` ends.
A figure that the driver does not offer is None with a reason, never 0.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import pynvml

from ..errors import GpuCommonsError, IntruderError
from ..i18n import _
from ..lease import Device, DeviceHealth, DeviceId, DeviceSample, FaultSign, Inventory, PoolName
from .nvml_calls import cut, memory, mig_profile, placement, virtual, whole_percent
from .nvml_faults import FaultWatch
from .nvml_gpm import Gpm, GpmMeter
from .nvml_power import PowerMeter
from .nvml_processes import Counted, Listed, ProcessList
from .nvml_topology import wired
from .sample import Reading, absent_sample

ROUNDS_PER_DISCOVERY = 12
"""Everything is looked up anew once a minute at a period of 5 s; between, handles are kept."""

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
    no_gpm: bool = False
    """Whether a whole GPU does not tell what only Hopper and newer do."""


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
        self._power = PowerMeter()
        self._listed = ProcessList()
        self._faults = FaultWatch()
        self._signs_of: dict[str, tuple[FaultSign, ...] | None] = {}

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
        self._listed.begin()
        samples = tuple(one for slots in self._slots.values() for one in self._samples(slots, now))
        known = any(one.processes is not None for one in samples)
        return Reading(
            inventory=self._inventory(now),
            devices=samples,
            health=tuple(self._health(now)),
            processes=tuple(self._listed.found) if known else None,
        )

    def _samples(self, slots: list[_Slot], now: datetime) -> Iterator[DeviceSample]:
        """Sample the devices of one GPU; its processes are listed once for all of them."""
        made = [self._sample(slot, now) for slot in slots]
        asked = [
            (slot, sample)
            for slot, sample in zip(slots, made, strict=True)
            if not slot.fault and sample.memory_total_bytes is not None
        ]
        counts = self._counts(asked)
        for sample in made:
            counted = counts.get(sample.device)
            yield (
                sample
                if counted is None
                else sample.model_copy(
                    update={"processes": counted.processes, "process_changes": counted.changes}
                )
            )

    def _counts(self, asked: list[tuple[_Slot, DeviceSample]]) -> dict[DeviceId, Counted]:
        if not asked:
            return {}
        first = asked[0][0]
        every = [Listed(x.device.id, x.instance, y.memory_total_bytes) for x, y in asked]
        wrong = self._listed.wrong
        found, _reason = self._ask(first, lambda: self._listed.look(first.parent, every))
        if found is not None or first.instance is None or self._listed.wrong > wrong:
            return found or {}
        # Without the right to ask the whole GPU, each of its devices is asked for itself.
        counts: dict[DeviceId, Counted] = {}
        for (slot, _sample), one in zip(asked, every, strict=True):
            mine = one._replace(instance=None)
            own, _reason = self._ask(slot, partial(self._listed.look, slot.handle, [mine]))
            counts |= own or {}
        return counts

    def _health(self, now: datetime) -> Iterator[DeviceHealth]:
        """Tell what speaks against each device; nothing of a device that cannot be asked."""
        self._faults.hear(now)
        for index, slots in self._slots.items():
            asked = [slot for slot in slots if not slot.fault]
            signs = self._signs(index, asked[0], now) if asked else None
            if signs is not None:
                yield from (DeviceHealth(device=slot.device.id, signs=signs) for slot in asked)

    def _signs(self, index: int, slot: _Slot, now: datetime) -> tuple[FaultSign, ...] | None:
        """Ask every other round: counters of faults grow for good, and each call costs the work."""
        former = self._signs_of.get(slot.gpu)
        if former is None or (self._round + index) % 2:
            former = self._signs_of[slot.gpu] = self._faults.signs(slot.gpu, slot.parent, now)
        return former

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
        self._listed.keep_only(slot.device.id for slot in slots)
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
        if not cut(parent):
            device = Device(
                id=DeviceId(gpu),
                pool=PoolName(""),
                node=self._node,
                gpu=index,
                model=model,
                virtual=virtual(parent),
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
        start, size = placement(parent, instance)
        device = Device(
            id=DeviceId(pynvml.nvmlDeviceGetUUID(handle)),
            pool=PoolName(""),
            node=self._node,
            gpu=index,
            model=model,
            mig_profile=mig_profile(handle),
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
        gpm, no_gpm = self._measured(slot)
        percent, no_percent = self._utilisation(slot, gpm, no_gpm)
        has, no_memory = self._ask(slot, lambda: memory(slot.handle))
        used, total = has or (None, None)
        return DeviceSample(
            device=slot.device.id,
            at=now,
            util_percent=percent,
            memory_used_bytes=used,
            memory_total_bytes=total,
            sm_percent=None if gpm is None else gpm.sm_percent,
            dram_percent=None if gpm is None else gpm.dram_percent,
            pcie_kib_s=None if gpm is None else gpm.pcie_kib_s,
            power_mw=self._watts(slot),
            absent="; ".join(
                text.format(why=why)
                for text, why in (
                    (_("utilisation: {why}"), no_percent),
                    (_("memory: {why}"), no_memory),
                )
                if why
            ),
        )

    def _utilisation(self, slot: _Slot, gpm: Gpm | None, why: str) -> tuple[int | None, str]:
        if slot.instance is None:
            return self._ask(slot, lambda: whole_percent(slot.handle))
        return (None, why) if gpm is None else (gpm.percent, "")

    def _measured(self, slot: _Slot) -> tuple[Gpm | None, str]:
        """Ask for what only Hopper and newer tell; of a whole GPU it is no fault if they do not."""
        if slot.instance is None and slot.no_gpm:
            return None, ""
        result, reason = self._ask(
            slot, lambda: self._gpm.figures(slot.device.id, slot.parent, slot.instance)
        )
        if slot.instance is None and result is None:
            slot.no_gpm = True
        return (None, reason) if result is None else result

    def _watts(self, slot: _Slot) -> int | None:
        """Mean power of the board since the former reading, in milliwatts; parts have none."""
        if slot.instance is not None:
            return None
        energy, _reason = self._ask(
            slot, lambda: int(pynvml.nvmlDeviceGetTotalEnergyConsumption(slot.handle))
        )
        return self._power.mean(slot.device.id, energy)

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
