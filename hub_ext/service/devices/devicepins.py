"""Keeps devices for projects that the policy gives some: chosen once, moved only by an event.

A machine that is silent keeps its pins, because nobody knows what is true there.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from ...i18n import _
from ...lease import Device, DeviceId, Event
from ...mig.placement import pick
from ...policy.model import DevicePin, Policy
from ..books.desk import Desk, Turn
from ..books.pinbook import PINNED


def settle(desk: Desk, *, now: datetime) -> None:
    """Choose devices for projects that lack some, and let go of those that are there no more.

    In a turn of its own, so that memory has only what is on the record: whoever asks next may be
    refused, and takes the record of that turn back.
    """
    policy = desk.book.known
    if policy is None or not _concerned(desk, policy):
        return
    with desk.turn(now) as turn:
        events = tuple(_changes(turn, policy))
        for event in events:
            turn.tx.append(event)
    for event in events:
        desk.pins.apply(event)


def _concerned(desk: Desk, policy: Policy) -> bool:
    return any(desk.pins.projects.values()) or any(
        project.device is not None for project in policy.projects.values()
    )


def _changes(turn: Turn, policy: Policy) -> Iterator[Event]:
    pins = turn.desk.pins
    wanted = {
        name: project.device
        for name, project in policy.projects.items()
        if project.device is not None
    }
    for gone in [name for name, devices in pins.projects.items() if devices and name not in wanted]:
        yield _event(turn, gone, (), _("the policy keeps no devices for it any more"))
    if not wanted:
        return
    found, _drift = turn.desk.floor.devices(policy, now=turn.now)
    chosen = {device.id for name in wanted for device in pins.projects.get(name, ())}
    for name, pin in wanted.items():
        before = pins.projects.get(name, ())
        kept = tuple(one for one in before if _fits(one, pin) and not _moved(turn, one, found))
        kept = kept[: pin.devices]
        now = (*kept, *_more(turn, name, pin, kept, found, chosen))
        chosen |= {one.id for one in now}
        if now != before:
            yield _event(turn, name, now, _words(before, kept, now))


def _fits(device: Device, pin: DevicePin) -> bool:
    return device.pool == pin.pool and device.part == pin.mig


def _moved(turn: Turn, device: Device, found: Iterable[Device]) -> bool:
    """Whether a device is known to be gone: its machine speaks, and does not name it."""
    if any(one.id == device.id for one in found):
        return False
    heard = {one.node for one in turn.desk.floor.inventories(now=turn.now)}
    return device.node in heard or turn.desk.settings.on_kubernetes


def _more(
    turn: Turn,
    project: str,
    pin: DevicePin,
    kept: tuple[Device, ...],
    found: Iterable[Device],
    chosen_before: set[DeviceId],
) -> tuple[Device, ...]:
    """Choose what is missing: first what the project holds already, then what is free."""
    taken = chosen_before | {one.id for one in kept}
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


def _event(turn: Turn, project: str, devices: tuple[Device, ...], words: str) -> Event:
    body: dict[str, object] = {
        "v": 1,
        "project": project,
        "devices": [device.model_dump(mode="json") for device in devices],
        "words": words,
    }
    return Event(kind=PINNED, at=turn.now, actor=turn.actor, body=body)


def _words(before: tuple[Device, ...], kept: tuple[Device, ...], now: tuple[Device, ...]) -> str:
    gone = [one.id for one in before if one not in kept]
    names = ", ".join(one.id for one in now) or _("none yet")
    if gone:
        return _("{gone} is there no more; its devices are {names}").format(
            gone=", ".join(gone), names=names
        )
    return _("its devices are {names}").format(names=names)
