"""Which signs of a driver mean that a GPU is at fault, and the words for them. Pure.

A program's own mistakes raise Xids too (13, 31, 43, 45, 94 and more): they say nothing of the GPU.
"""

from collections.abc import Iterable

from ...i18n import _
from ...lease import FaultSign

XIDS = {
    48: _("a memory error that could not be corrected"),
    62: _("its micro-controller has halted"),
    64: _("a faulty row of its memory could not be replaced"),
    74: _("an error of its NVLink"),
    79: _("it has fallen off the bus"),
    95: _("a memory error that was not contained"),
    119: _("its system processor does not answer"),
    120: _("an error of its system processor"),
    140: _("a memory error that it could not recover from"),
    143: _("it could not be initialised"),
}
"""What NVIDIA's list of Xid errors calls a fault of the GPU itself, which a reset or more mends."""

RECOVERIES = {
    1: _("the GPU is to be reset"),
    2: _("the machine is to be restarted"),
    3: _("its traffic with other GPUs is to be drained, and it is to be reset"),
    4: _("it is to be drained and reset"),
    6: _("its bus is to be reset"),
    7: _("the whole system is to be restarted"),
}
"""NVML's recovery actions that need the GPU for themselves."""

LASTING = "xid "
"""Begins the name of a sign that is an event: nothing ever says that it is over."""


def name_of(sign: FaultSign) -> str:
    """Name a sign, so that it is known again in the next reading."""
    return f"{sign.kind} {sign.code}"


def fatal(signs: Iterable[FaultSign]) -> tuple[FaultSign, ...]:
    """Signs by which a GPU is at fault."""
    return tuple(sign for sign in signs if fault_words(sign))


def fault_words(sign: FaultSign) -> str:
    """Say what a sign means; nothing where the GPU is not at fault by it."""
    match sign.kind:
        case "ecc":
            return _("{n} memory errors could not be corrected (ECC); reset the GPU").format(
                n=sign.code
            )
        case "xid":
            words = XIDS.get(sign.code)
            return "" if words is None else _("Xid {n}: {what}").format(n=sign.code, what=words)
        case "recovery":
            words = RECOVERIES.get(sign.code)
            return "" if words is None else _("its driver says that {what}").format(what=words)
