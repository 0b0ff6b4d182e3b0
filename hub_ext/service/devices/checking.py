"""Looks at what agents read: which device is at fault, gone, not empty though free, or well again.

Unknown proves nothing. A device that an administrator took out comes back by their word alone, and
so does one that had an Xid: nothing ever says that it is over.
"""

from collections.abc import Iterable
from datetime import datetime

from ...i18n import _
from ...lease import (
    DeviceHealth,
    DeviceId,
    DeviceSample,
    Event,
    FaultSign,
    OpenLease,
    Outage,
    OutCause,
    SampleBatch,
    StrayProcess,
    gpu_of,
)
from ..books.desk import Desk
from ..books.outages import BACK, OUT
from ..books.slots import SLOT
from ..money.waiving import begin, finish
from . import leftovers
from .faultsigns import LASTING, fatal, fault_words, name_of
from .leftovers import left

READINGS = 3
"""Readings in a row that take a device out, or bring it back: one alone may be a passing state."""


def check(
    desk: Desk,
    batch: SampleBatch,
    leases: Iterable[OpenLease],
    *,
    now: datetime,
    before: datetime | None = None,
) -> None:
    """Draw conclusions from one batch of one node.

    Parameters
    ----------
    before
        When that node's batch before this one came; None for its first.
    """
    held = {device.id: lease for lease in leases if lease.holding for device in lease.devices}
    _forget_accepted(desk, batch)
    events = [
        *_at_fault(desk, batch, held, now),
        *_lost(desk, batch, held, now, before or now),
        *_left(desk, batch, held, now),
        *_well(desk, batch, now),
    ]
    if not events:
        return
    with desk.turn(now) as turn:
        for event in events:
            turn.tx.append(event)
        out = (one.body["outage"] for one in events if one.kind == OUT)
        begin(turn, map(Outage.model_validate, out))
        finish(turn, {DeviceId(str(one.body["device"])) for one in events if one.kind == BACK})
    for event in events:
        desk.outages.apply(event)
    desk.changed |= {lease.key for lease in held.values()}


def _at_fault(
    desk: Desk, batch: SampleBatch, held: dict[DeviceId, OpenLease], now: datetime
) -> list[Event]:
    """Devices that their driver says are at fault, used or not."""
    events = []
    known = held.keys() | {device.id for device in desk.floor.found(batch.node)}
    for one in batch.health:
        signs = _news(desk, one)
        if not signs or one.device in desk.outages.devices or one.device not in known:
            continue
        outage = Outage(
            device=one.device,
            cause="faulty",
            words="; ".join(map(fault_words, signs)),
            at=now,
            by="governor",
            since=min(now, *(sign.since for sign in signs)),
            signs=tuple(map(name_of, signs)),
        )
        events.append(Event(kind=OUT, at=now, body=_body(outage)))
    return events


def _news(desk: Desk, health: DeviceHealth) -> tuple[FaultSign, ...]:
    """Signs of a fault but those with which an administrator brought the device back."""
    accepted = desk.outages.accepted.get(health.device, frozenset())
    return tuple(sign for sign in fatal(health.signs) if name_of(sign) not in accepted)


def _forget_accepted(desk: Desk, batch: SampleBatch) -> None:
    """Forget what was accepted once it is gone: when it comes again, it is a new fault."""
    accepted = desk.outages.accepted
    for one in batch.health:
        if one.device in accepted:
            accepted[one.device] &= set(map(name_of, one.signs))


def _lost(
    desk: Desk,
    batch: SampleBatch,
    held: dict[DeviceId, OpenLease],
    now: datetime,
    before: datetime,
) -> list[Event]:
    """Devices in use that their machine does not have any more."""
    if batch.inventory is None:
        return []
    there = {device.id for device in batch.inventory.devices}
    policy = desk.book.known

    def known() -> set[DeviceId]:
        return set() if policy is None else {one.id for one in desk.floor.declared(policy)}

    why = f": {batch.inventory.problem}" if batch.inventory.problem else ""
    words = _("its machine does not find it any more") + why
    lost = [
        device
        for device in {one.id: one for lease in held.values() for one in lease.devices}.values()
        if device.node == batch.node
        and device.id not in there
        and device.id not in desk.outages.devices
        # A simulated device that the policy no longer declares was never there.
        and (not device.simulated or device.id in known())
        # A place on Kubernetes is no device that its machine could name.
        and not device.id.startswith(SLOT)
    ]
    outages = (_out(device.id, "faulty", words, now) for device in lost)
    return [
        Event(kind=OUT, at=now, body=_body(one.model_copy(update={"since": min(before, now)})))
        for one in outages
    ]


def _left(
    desk: Desk, batch: SampleBatch, held: dict[DeviceId, OpenLease], now: datetime
) -> list[Event]:
    """Free devices on which a process or memory of an ended server is left."""
    doubts, events = desk.outages.doubts, []
    in_containers = _in_containers(desk, batch)
    if in_containers is None:
        return []
    # A time-share has no memory of its own: what is held may be of another lease on its GPU.
    in_use = {device.driver_id for lease in held.values() for device in lease.devices}
    in_use |= in_containers
    strays = _strays(batch)
    for sample in batch.devices:
        device = sample.device
        if device in desk.outages.devices:
            continue
        in_turns = gpu_of(device) in in_use
        found = None if device in held or in_turns else left(sample, strays.get(device, ()))
        if device in held or in_turns or found is False:
            doubts.pop(device, None)
        if found is False:
            _seen_clean(desk, sample)
        if not found:
            continue
        doubts[device] = doubts.get(device, 0) + 1
        if doubts[device] >= READINGS:
            outage = _out(device, "not-empty", leftovers.words(sample, strays.get(device, ())), now)
            events.append(Event(kind=OUT, at=now, body=_body(outage)))
    return events


def _in_containers(desk: Desk, batch: SampleBatch) -> frozenset[DeviceId] | None:
    """Devices that containers of the machine hold; None where only its kubelet knows, and is mute.

    On Kubernetes leases hold places, and a batch job's pod has no lease at all: what a device is
    used for is told by the kubelet alone.
    """
    if not desk.settings.on_kubernetes:
        return frozenset()
    if batch.holdings is None:
        return None
    return frozenset(gpu_of(one.device) for one in batch.holdings)


def _strays(batch: SampleBatch) -> dict[DeviceId, list[StrayProcess]]:
    found: dict[DeviceId, list[StrayProcess]] = {}
    for one in batch.strays or ():
        found.setdefault(one.device, []).append(one)
    return found


def _seen_clean(desk: Desk, sample: DeviceSample) -> None:
    """Let every team have a device that was read after its last lease ended there."""
    kept = desk.outages.unclean.get(sample.device)
    if kept is not None and sample.at > kept.since:
        del desk.outages.unclean[sample.device]


def _well(desk: Desk, batch: SampleBatch, now: datetime) -> list[Event]:
    """Devices that passed their check so often that they may come back."""
    passed, events = desk.outages.passed, []
    there = {device.id for device in desk.floor.found(batch.node)}
    samples = {sample.device: sample for sample in batch.devices}
    strays = _strays(batch)
    looked_at = {one.device: one for one in batch.health}
    for device, outage in desk.outages.devices.items():
        sample, health = samples.get(device), looked_at.get(device)
        match outage.cause:
            case "admin":
                continue
            case "faulty":
                well = _recovered(desk, outage, health, sample, found=device in there)
            case "not-empty":
                something = None if sample is None else left(sample, strays.get(device, ()))
                well = None if something is None else not something
        if well is None:
            continue
        passed[device] = passed.get(device, 0) + 1 if well else 0
        if passed[device] >= READINGS:
            words = _("it passed its check {n} times in a row").format(n=READINGS)
            body: dict[str, object] = {"v": 1, "device": device, "reason": words}
            events.append(Event(kind=BACK, at=now, body=body))
    return events


def _recovered(
    desk: Desk,
    outage: Outage,
    health: DeviceHealth | None,
    sample: DeviceSample | None,
    *,
    found: bool,
) -> bool | None:
    """Whether a device at fault is there and free of signs; None where nothing can be said."""
    if any(sign.startswith(LASTING) for sign in outage.signs):
        return None
    if health is None and (outage.signs or (sample is None and not found)):
        return None
    return found and (health is None or not _news(desk, health))


def _out(device: DeviceId, cause: OutCause, words: str, now: datetime) -> Outage:
    return Outage(device=device, cause=cause, words=words, at=now, by="governor")


def _body(outage: Outage) -> dict[str, object]:
    return {"v": 1, "outage": outage.model_dump(mode="json")}
