"""One GPU and its MIG devices as NVML shows them; `read` runs in the thread that has its turn.

A figure that the driver does not offer is None with a reason, never 0.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import pynvml

from ..i18n import _
from ..lease import Device, DeviceHealth, DeviceId, DeviceSample, FaultSign, PoolName
from .nvml_calls import cut, mig_profile, placement, virtual, whole_percent
from .nvml_errors import LOST, STALE, words_of
from .nvml_faults import FaultWatch
from .nvml_gpm import NO_GPM, Gpm, GpmMeter
from .nvml_hot import HotCalls
from .nvml_power import PowerMeter
from .nvml_processes import Counted, Listed, ProcessList
from .sample import DeviceProcess, absent_sample, made

ROUNDS_PER_CHECK = 4

T = TypeVar("T")


@dataclass
class Slot:
    """A device with the handle to ask it by; `fault` says why it cannot be asked now."""

    device: Device
    handle: Any
    instance: int | None
    fault: str = ""
    no_gpm: bool = False
    """Whether a whole GPU does not tell what only Hopper and newer do."""

    def __post_init__(self) -> None:
        """Keep the UUID as the driver writes it."""
        self.uuid = self.device.id.encode()


class Figures(NamedTuple):
    """What one device said in one round, before its processes are counted."""

    slot: Slot
    percent: int | None = None
    used: int | None = None
    total: int | None = None
    gpm: Gpm = NO_GPM
    power_mw: int | None = None
    absent: str = ""


class GpuReading(NamedTuple):
    """All that one GPU said in one round."""

    samples: tuple[DeviceSample, ...]
    health: tuple[DeviceHealth, ...]
    processes: tuple[DeviceProcess, ...] | None


class Gpu:
    """One GPU by its index, with handles kept between rounds.

    Parameters
    ----------
    faults
        Hears of Xids of all GPUs.
    """

    def __init__(self, index: int, node: str, faults: FaultWatch) -> None:
        self.index = index
        self.slots: tuple[Slot, ...] = ()
        self.problem = ""
        self.uuid = ""
        self.stale = True
        self.told = GpuReading((), (), None)
        self.changed = True
        """Whether its devices, or what is wrong with them, may be others than a round before."""
        self.closed = False
        """Whether NVML says that it was never opened."""
        self._node = node
        self._parent: Any = None
        self._faults = faults
        self._hot = HotCalls()
        self._gpm = GpmMeter()
        self._power = PowerMeter()
        self._listed = ProcessList(self._hot)
        self._signs: tuple[FaultSign, ...] | None = None
        self._health: tuple[DeviceHealth, ...] = ()
        self._rounds = 0

    def read(self, now: datetime, *, anew: bool) -> None:
        """Read every device of this GPU once, into `told`.

        Raises
        ------
        DriverReplacedError
            This process must end.
        """
        looked_up = anew or self.stale
        if looked_up:
            self._look_up()
        self._rounds += 1
        self._listed.begin()
        made = [self._figures(slot) for slot in self.slots]
        self.changed = looked_up or self.stale
        counts = self._counts([one for one in made if one.total is not None])
        samples = tuple(_sample(one, counts.get(one.slot.device.id), now) for one in made)
        known = any(one.processes is not None for one in samples)
        self.told = GpuReading(
            samples, self._signs_of_all(now), tuple(self._listed.found) if known else None
        )

    def _look_up(self) -> None:
        """Look up the GPU and its devices; what is lost keeps its place, with its fault."""
        self.stale, self.problem = False, ""
        try:
            self.slots = tuple(self._found())
        except pynvml.NVMLError as error:
            reason = words_of(error)
            for slot in self.slots:
                slot.fault = reason
            if not self.slots:
                self.problem = _("GPU {index}: {why}").format(index=self.index, why=reason)
        every = [slot.device.id for slot in self.slots]
        self._gpm.keep_only(every)
        self._listed.keep_only(every)
        self._signs = None
        if self.slots and not self.slots[0].fault:
            self._faults.follow(self.uuid, self._parent)

    def _found(self) -> Iterator[Slot]:
        parent = self._parent = pynvml.nvmlDeviceGetHandleByIndex(self.index)
        model = str(pynvml.nvmlDeviceGetName(parent))
        self.uuid = str(pynvml.nvmlDeviceGetUUID(parent))
        if not cut(parent):
            device = Device(
                id=DeviceId(self.uuid),
                pool=PoolName(""),
                node=self._node,
                gpu=self.index,
                model=model,
                virtual=virtual(parent),
            )
            yield Slot(device, parent, None)
            return
        for position in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
            try:
                handle = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, position)
            except pynvml.NVMLError as error:
                # The indexes have holes where no instance is.
                if error.value not in STALE:
                    raise
                continue
            yield self._instance(model, parent, handle)

    def _instance(self, model: str, parent: Any, handle: Any) -> Slot:  # noqa: ANN401 - ctypes handles
        instance = int(pynvml.nvmlDeviceGetGpuInstanceId(handle))
        start, size = placement(parent, instance)
        device = Device(
            id=DeviceId(pynvml.nvmlDeviceGetUUID(handle)),
            pool=PoolName(""),
            node=self._node,
            gpu=self.index,
            model=model,
            mig_profile=mig_profile(handle),
            start=start,
            size=size,
        )
        return Slot(device, handle, instance)

    def _figures(self, slot: Slot) -> Figures:
        if slot.fault:
            self.stale = True
            return Figures(slot, absent=slot.fault)
        if slot.instance is not None:
            # A MIG handle may come to mean another instance; only the UUID says which one.
            uuid, reason = self._ask(slot, self._hot.uuid, slot.handle)
            if uuid != slot.uuid:
                self.stale = True
                why = reason or _("its place was cut anew; it is looked up again")
                return Figures(slot, absent=why)
        gpm, no_gpm = self._measured(slot)
        if slot.instance is None:
            percent, no_percent = self._ask(slot, whole_percent, slot.handle)
        else:
            percent, no_percent = (None, no_gpm) if gpm is None else (gpm.percent, "")
        has, no_memory = self._ask(slot, self._hot.memory, slot.handle)
        used, total = has or (None, None)
        absent = _absent(no_percent, no_memory) if no_percent or no_memory else ""
        return Figures(slot, percent, used, total, gpm or NO_GPM, self._watts(slot), absent)

    def _measured(self, slot: Slot) -> tuple[Gpm | None, str]:
        """Ask for what only Hopper and newer tell; of a whole GPU it is no fault if they do not."""
        if slot.instance is None and slot.no_gpm:
            return None, ""
        result, reason = self._ask(
            slot, self._gpm.figures, slot.device.id, self._parent, slot.instance
        )
        if slot.instance is None and result is None:
            slot.no_gpm = True
        return (None, reason) if result is None else result

    def _watts(self, slot: Slot) -> int | None:
        """Mean power of the board since the former reading, in milliwatts; parts have none."""
        if slot.instance is not None:
            return None
        energy, _reason = self._ask(slot, pynvml.nvmlDeviceGetTotalEnergyConsumption, slot.handle)
        return self._power.mean(slot.device.id, None if energy is None else int(energy))

    def _counts(self, asked: list[Figures]) -> dict[DeviceId, Counted]:
        if not asked:
            return {}
        first = asked[0].slot
        every = [Listed(one.slot.device.id, one.slot.instance, one.total) for one in asked]
        wrong = self._listed.wrong
        found, _reason = self._ask(first, self._listed.look, self._parent, every)
        if found is not None or first.instance is None or self._listed.wrong > wrong:
            return found or {}
        # Without the right to ask the whole GPU, each of its devices is asked for itself.
        counts: dict[DeviceId, Counted] = {}
        for one, listed in zip(asked, every, strict=True):
            mine = [listed._replace(instance=None)]
            own, _reason = self._ask(one.slot, self._listed.look, one.slot.handle, mine)
            counts |= own or {}
        return counts

    def _signs_of_all(self, now: datetime) -> tuple[DeviceHealth, ...]:
        """Tell what speaks against each device; nothing of a device that cannot be asked.

        It is asked every fourth round: counters of faults grow for good, events come at once, and
        each call costs the work that is measured.
        """
        former = self._signs
        if former is None or (self._rounds + self.index) % ROUNDS_PER_CHECK == 0:
            well = bool(self.slots) and not self.slots[0].fault
            self._signs = self._faults.signs(self.uuid, self._parent, now) if well else None
        signs = self._signs
        if signs != former or self.changed:
            asked = [slot.device.id for slot in self.slots if not slot.fault]
            told = () if signs is None else tuple(_health(one, signs) for one in asked)
            self._health = told
        return self._health

    def _ask(self, slot: Slot, call: Callable[..., T], *about: Any) -> tuple[T | None, str]:  # noqa: ANN401 - ctypes handles
        """Make one call; None with a reason when the driver refuses or answers nonsense."""
        try:
            return call(*about), ""
        except pynvml.NVMLError as error:
            if error.value in STALE or error.value in LOST:
                self.stale = True
            if error.value in LOST:
                slot.fault = words_of(error)
            if error.value == pynvml.NVML_ERROR_UNINITIALIZED:
                self.closed = True
            return None, words_of(error)
        except ValueError as error:
            return None, str(error)


def _health(device: DeviceId, signs: tuple[FaultSign, ...]) -> DeviceHealth:
    return DeviceHealth(device=device, signs=signs)


def _absent(no_percent: str, no_memory: str) -> str:
    told = ((_("utilisation: {why}"), no_percent), (_("memory: {why}"), no_memory))
    return "; ".join(text.format(why=why) for text, why in told if why)


def _sample(one: Figures, counted: Counted | None, now: datetime) -> DeviceSample:
    if one.slot.fault and one.total is None:
        return absent_sample(one.slot.device.id, now, one.absent)
    gpm = one.gpm
    return made(
        {
            "device": one.slot.device.id,
            "at": now,
            "util_percent": one.percent,
            "memory_used_bytes": one.used,
            "memory_total_bytes": one.total,
            "absent": one.absent,
            "sm_percent": gpm.sm_percent,
            "dram_percent": gpm.dram_percent,
            "pcie_kib_s": gpm.pcie_kib_s,
            "power_mw": one.power_mw,
            "processes": None if counted is None else counted.processes,
            "process_changes": None if counted is None else counted.changes,
        }
    )
