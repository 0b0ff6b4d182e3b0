"""Keeps devices for projects that the policy gives some: chosen once, moved only by an event.

A machine that is silent keeps its pins, because nobody knows what is true there.
"""

from collections.abc import Iterable

from ..i18n import _
from ..lease import Device, Event
from ..mig.placement import pick
from ..policy.model import DevicePin
from .desk import Turn
from .pinbook import PINNED


def settle(turn: Turn) -> None:
    """Choose devices for projects that lack some, and let go of those that are there no more."""
    policy, pins = turn.desk.book.policy, turn.desk.pins
    wanted = {
        name: project.device
        for name, project in policy.projects.items()
        if project.device is not None
    }
    for gone in [name for name, devices in pins.projects.items() if devices and name not in wanted]:
        _record(turn, gone, (), _("the policy keeps no devices for it any more"))
    if not wanted:
        return
    found, _drift = turn.desk.floor.devices(policy, now=turn.now)
    for name, pin in wanted.items():
        before = pins.projects.get(name, ())
        kept = tuple(one for one in before if _fits(one, pin) and not _moved(turn, one, found))
        kept = kept[: pin.devices]
        now = (*kept, *_more(turn, name, pin, kept, found))
        if now != before:
            _record(turn, name, now, _words(before, kept, now))


def _fits(device: Device, pin: DevicePin) -> bool:
    return device.pool == pin.pool and device.part == pin.mig


def _moved(turn: Turn, device: Device, found: Iterable[Device]) -> bool:
    """Whether a device is known to be gone: its machine speaks, and does not name it."""
    if any(one.id == device.id for one in found):
        return False
    heard = {one.node for one in turn.desk.floor.inventories(now=turn.now)}
    return device.node in heard or turn.desk.settings.on_kubernetes


def _more(
    turn: Turn, project: str, pin: DevicePin, kept: tuple[Device, ...], found: Iterable[Device]
) -> tuple[Device, ...]:
    """Choose what is missing: first what the project holds already, then what is free."""
    taken = set(turn.desk.pins.owners()) | {one.id for one in kept}
    ours: list[Device] = []
    for lease in turn.tx.leases():
        held = [one for one in lease.takes if one.id not in taken]
        if lease.project == project:
            ours += [one for one in held if _fits(one, pin)]
        taken |= {one.id for one in held}
    chosen = list(ours[: pin.devices - len(kept)])
    pool = [one for one in found if one.pool == pin.pool]
    each = pin.gpus or 1
    while len(kept) + len(chosen) + each <= pin.devices:
        busy = frozenset(taken | {one.id for one in chosen})
        more = pick(pool, busy, gpus=pin.gpus or 0, mig_profile=pin.mig)
        if more is None:
            break
        chosen += more
    return tuple(chosen)


def _record(turn: Turn, project: str, devices: tuple[Device, ...], words: str) -> None:
    body: dict[str, object] = {
        "v": 1,
        "project": project,
        "devices": [device.model_dump(mode="json") for device in devices],
        "words": words,
    }
    event = Event(kind=PINNED, at=turn.now, actor=turn.actor, body=body)
    turn.tx.append(event)
    turn.desk.pins.apply(event)


def _words(before: tuple[Device, ...], kept: tuple[Device, ...], now: tuple[Device, ...]) -> str:
    gone = [one.id for one in before if one not in kept]
    names = ", ".join(one.id for one in now) or _("none yet")
    if gone:
        return _("{gone} is there no more; its devices are {names}").format(
            gone=", ".join(gone), names=names
        )
    return _("its devices are {names}").format(names=names)
