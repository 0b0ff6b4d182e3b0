"""Readings of agents put on the governor's clock, as far as an agent's own can be trusted.

Pure. An agent measures the offset; what it cannot measure is taken as it stands.
"""

from datetime import timedelta
from typing import TypeVar

from ...i18n import _
from ...lease import ClockOffset, DeviceHealth, DeviceSample, ProcessSample, SampleBatch

TOLD = timedelta(seconds=2)
"""An offset from which an admin hears of it."""

TRUSTED = timedelta(seconds=60)
"""An offset above which nothing that an agent measured counts: a clock that is so far off is out
of control, and what it said a moment ago may have been said by another clock."""

NOISE_MS = 100
"""Offsets below, or below what they are known to, are none: no reading is finer than that."""

S = TypeVar("S", DeviceSample, ProcessSample)


def on_our_clock(batch: SampleBatch) -> SampleBatch:
    """Put every instant of a batch on the governor's clock; figures of a wild clock are left out.

    Which devices there are, who holds them, and what speaks against them stays: that is not of a
    moment.
    """
    off = _off(batch.clock)
    if batch.clock is None or not off:
        return batch
    inventory = batch.inventory
    wild = abs(off) > TRUSTED
    return batch.model_copy(
        update={
            "sent_at": batch.sent_at + off,
            "inventory": inventory and inventory.model_copy(update={"at": inventory.at + off}),
            "devices": () if wild else tuple(_moved(one, off) for one in batch.devices),
            "processes": () if wild else tuple(_moved(one, off) for one in batch.processes),
            "health": tuple(_health(one, off) for one in batch.health),
        }
    )


def clock_words(clock: ClockOffset) -> str:
    """Say that an agent's clock is wrong; empty where it is not, or by so little."""
    off = _off(clock)
    if abs(off) <= TOLD:
        return ""
    wild = abs(off) > TRUSTED
    if off < timedelta(0):
        words = (
            _("its clock is {n} s ahead, so its figures are unknown; set that clock")
            if wild
            else _("its clock is {n} s ahead; its readings are put right, but set that clock")
        )
    else:
        words = (
            _("its clock is {n} s behind, so its figures are unknown; set that clock")
            if wild
            else _("its clock is {n} s behind; its readings are put right, but set that clock")
        )
    return words.format(n=int(abs(off).total_seconds()))


def _off(clock: ClockOffset | None) -> timedelta:
    if clock is None or abs(clock.offset_ms) <= max(NOISE_MS, clock.within_ms):
        return timedelta(0)
    return timedelta(milliseconds=clock.offset_ms)


def _moved(one: S, off: timedelta) -> S:
    return one.model_copy(update={"at": one.at + off})


def _health(one: DeviceHealth, off: timedelta) -> DeviceHealth:
    signs = tuple(x.model_copy(update={"since": x.since + off}) for x in one.signs)
    return one.model_copy(update={"signs": signs})
