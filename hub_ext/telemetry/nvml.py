"""NVIDIA's own figures, through the real `pynvml`, which only the files `nvml*` here import.

Every call can block in the kernel for good, so this runs only in the child that `guarded` ends,
and what is asked of each GPU where one that hangs holds up no other.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pynvml

from ..errors import IntruderError
from ..i18n import _
from ..lease import DeviceHealth, DeviceSample, Inventory, Wired
from .nvml_errors import DriverReplacedError, words_of
from .nvml_faults import FaultWatch
from .nvml_gpu import Gpu, Slot
from .nvml_topology import wired
from .nvml_turns import Turns
from .sample import DeviceProcess, Reading, absent_sample

__all__ = ["Driver", "DriverReplacedError", "check_bindings"]

ROUNDS_PER_DISCOVERY = 12
"""Everything is looked up anew once a minute at a period of 5 s; between, handles are kept."""

PATIENCE_S = 0.5
"""A GPU that is silent for so long, or for twice that at most, is not waited for until it answers:
a turn takes some milliseconds, and that of a board that wakes up some more."""

LATE_ROUNDS = 3
"""A GPU that does not answer for so many rounds is no longer there to be handed out."""

_EVENTS, _WIRES = -1, -2
"""What is asked of all GPUs together has turns of its own."""


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
    """One node's GPUs as the driver shows them.

    Parameters
    ----------
    period_s
        Seconds between two rounds; a GPU that hangs may not hold up the next one.
    """

    def __init__(self, node: str, period_s: float = 5.0) -> None:
        self._node = node
        self._open = False
        self._round = 0
        self._gpus: list[Gpu] = []
        self._turns = Turns(min(PATIENCE_S, period_s / 3))
        self._faults = FaultWatch()
        self._told: Inventory | None = None

    @property
    def answers(self) -> bool:
        """Whether any GPU answered in the newest round, or there is none."""
        return not self._gpus or not all(gpu.index in self._turns.missed for gpu in self._gpus)

    def read(self, now: datetime) -> Reading:
        """Read everything once.

        Raises
        ------
        DriverReplacedError
            This process must end.
        """
        anew = self._round % ROUNDS_PER_DISCOVERY == 0
        try:
            if not self._open:
                pynvml.nvmlInit()
                self._open, anew = True, True
                self._faults.forget()
            if anew:
                self._count()
        except pynvml.NVMLError as error:
            self._open = False
            return self._all_absent(now, words_of(error))
        self._round += 1
        jobs = {gpu.index: partial(gpu.read, now, anew=anew) for gpu in self._gpus}
        # Events come last: what they tell of was not followed before the first look.
        self._turns.run({**jobs, _EVENTS: partial(self._faults.hear, now)})
        if anew:
            self._join()
        if any(gpu.closed for gpu in self._gpus):
            self._open = False
        return self._reading(now, anew=anew)

    def _count(self) -> None:
        """Take in GPUs that came, and let go of those that went."""
        count = pynvml.nvmlDeviceGetCount()
        del self._gpus[count:]
        for gpu in self._gpus:
            gpu.closed = False
        for index in range(len(self._gpus), count):
            self._gpus.append(Gpu(index, self._node, self._faults))
        kept = {gpu.uuid for gpu in self._gpus if gpu.slots and not gpu.slots[0].fault}
        self._faults.keep_only(kept)

    def _join(self) -> None:
        """Say of whole GPUs how they are joined, where there are several."""
        whole = {gpu.index: slot for gpu in self._gpus if (slot := self._whole(gpu)) is not None}
        if len(whole) < 2:  # noqa: PLR2004 - one GPU is joined to nothing
            return
        handles = {index: slot.handle for index, slot in whole.items()}
        found: dict[int, Wired] = {}
        self._turns.run({_WIRES: lambda: found.update(wired(handles))})
        for index, groups in dict(found).items():
            slot = whole[index]
            slot.device = slot.device.model_copy(update={"wired": groups})

    def _whole(self, gpu: Gpu) -> Slot | None:
        only = gpu.slots[0] if len(gpu.slots) == 1 else None
        stuck = gpu.index in self._turns.missed
        return None if only is None or only.instance is not None or only.fault or stuck else only

    def _reading(self, now: datetime, *, anew: bool) -> Reading:
        samples: list[DeviceSample] = []
        health: list[DeviceHealth] = []
        processes: list[DeviceProcess] = []
        known, same = False, not anew
        for gpu in self._gpus:
            one, missed = gpu.told, gpu.index in self._turns.missed
            same = same and not missed and not gpu.changed
            if missed:
                reason = _("NVML does not answer for this GPU")
                samples += [absent_sample(slot.device.id, now, reason) for slot in gpu.slots]
                continue
            samples += one.samples
            health += one.health
            processes += one.processes or ()
            known = known or one.processes is not None
        return Reading(
            inventory=self._inventory(now, same=same),
            devices=tuple(samples),
            health=tuple(health),
            processes=tuple(processes) if known else None,
        )

    def _inventory(self, now: datetime, *, same: bool) -> Inventory:
        if same and self._told is not None and not self._told.problem:
            # Nothing changed, as a rule; looking over every device again costs more than asking it.
            return self._told.model_copy(update={"at": now})
        there = tuple(
            slot.device
            for gpu in self._gpus
            if self._turns.missed.get(gpu.index, 0) < LATE_ROUNDS
            for slot in gpu.slots
            if not slot.fault
        )
        self._told = Inventory(
            node=self._node,
            source="nvml",
            at=now,
            devices=there,
            problem="; ".join(self._problems()),
        )
        return self._told

    def _problems(self) -> Iterator[str]:
        for gpu in self._gpus:
            if gpu.problem:
                yield gpu.problem
            if gpu.index in self._turns.missed:
                yield _("GPU {index}: NVML does not answer for it").format(index=gpu.index)
                continue
            yield from (f"{slot.device.id}: {slot.fault}" for slot in gpu.slots if slot.fault)

    def _all_absent(self, now: datetime, reason: str) -> Reading:
        known = [slot.device.id for gpu in self._gpus for slot in gpu.slots]
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
