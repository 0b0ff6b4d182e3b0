"""What administrators do to devices: out and back, drain and lift, each an event with who and why.

Leases that a drain touches are told by the idle round, which gives every other notice too.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from ...errors import RefusedError
from ...i18n import _
from ...lease import (
    Actor,
    Device,
    DeviceId,
    DeviceRow,
    DeviceSheet,
    Drain,
    Event,
    OpenLease,
    Outage,
    Spot,
)
from ..basis.refusals import named
from ..books.desk import Desk
from ..books.floor import declared
from ..books.outages import BACK, DRAIN, LIFT, OUT, Outages
from ..money.waiving import finish


def take_out(
    desk: Desk, device: DeviceId, *, reason: str, actor: Actor, now: datetime
) -> DeviceSheet:
    """Take a device out of service; who has it keeps it.

    Raises
    ------
    RefusedError
        When there is no such device, or it is out already by an administrator's word.
    """
    known_spot(desk, Spot(place="device", name=device), now)
    present = desk.outages.devices.get(device)
    if present is not None and present.cause == "admin":
        raise RefusedError(
            "already-out",
            _("{device} is out of service already: {words}.").format(
                device=device, words=present.words
            ),
        )
    outage = Outage(device=device, cause="admin", words=reason, at=now, by=actor.name)
    _write(desk, OUT, {"outage": outage.model_dump(mode="json")}, actor, now)
    return sheet(desk, now=now)


def bring_back(
    desk: Desk, device: DeviceId, *, reason: str, actor: Actor, now: datetime
) -> DeviceSheet:
    """Bring a device back into service, whatever took it out.

    Raises
    ------
    RefusedError
        When it is in service.
    """
    if device not in desk.outages.devices:
        raise RefusedError(
            "not-out", _("{device} is not out of service.").format(device=repr(device[:80]))
        )
    _write(desk, BACK, {"device": device, "reason": reason}, actor, now)
    return sheet(desk, now=now)


def drain(
    desk: Desk,
    spot: Spot,
    *,
    after: timedelta | None,
    reason: str,
    actor: Actor,
    now: datetime,
) -> DeviceSheet:
    """Give no new lease there, and let those that are there end after a while.

    Parameters
    ----------
    after
        Until leases are stopped; None for the notice that the policy gives before an end of life.

    Raises
    ------
    RefusedError
        When there is no such pool, machine or device.
    """
    known_spot(desk, spot, now)
    wait = desk.book.policy.notice.lifetime if after is None else after
    wanted = Drain(
        place=spot.place,
        name=spot.name,
        ends_at=now + wait,
        at=now,
        by=actor.name,
        reason=reason,
    )
    _write(desk, DRAIN, {"drain": wanted.model_dump(mode="json")}, actor, now)
    return sheet(desk, now=now)


def lift(desk: Desk, spot: Spot, *, reason: str, actor: Actor, now: datetime) -> DeviceSheet:
    """End a drain; notices that it gave are taken back in the next round.

    Raises
    ------
    RefusedError
        When it is not drained.
    """
    if (spot.place, spot.name) not in desk.outages.drains:
        raise RefusedError(
            "not-drained", _("{name} is not drained.").format(name=repr(spot.name[:80]))
        )
    _write(desk, LIFT, {"place": spot.place, "name": spot.name, "reason": reason}, actor, now)
    return sheet(desk, now=now)


def sheet(desk: Desk, *, now: datetime) -> DeviceSheet:
    """Show all devices that are found or held, and what is out or drained."""
    with desk.turn(now) as turn:
        leases = turn.tx.leases()
    policy = desk.book.known
    drift = desk.floor.devices(policy, now=now)[1] if policy is not None else ()
    return table(leases, _found(desk, now), desk.outages, at=now, drift=drift)


def table(
    leases: Iterable[OpenLease],
    devices: Iterable[Device],
    outages: Outages,
    *,
    at: datetime,
    drift: tuple[str, ...],
) -> DeviceSheet:
    """Join devices with who holds them, and with what is out or drained."""
    held = {device.id: lease for lease in leases if lease.holding for device in lease.takes}
    found = {device.id: device for device in devices}
    found |= {device.id: device for lease in held.values() for device in lease.takes}
    return DeviceSheet(
        at=at,
        devices=tuple(
            DeviceRow(
                device=device,
                lease_id=held[device.id].id if device.id in held else None,
                outage=outages.devices.get(device.id),
                drain=outages.drain_of(device),
            )
            for device in sorted(found.values(), key=lambda one: (one.pool, one.node, one.id))
        ),
        outages=tuple(outages.devices.values()),
        drains=tuple(outages.drains.values()),
        drift=drift,
    )


def _found(desk: Desk, now: datetime) -> tuple[Device, ...]:
    policy = desk.book.known
    return () if policy is None else desk.floor.devices(policy, now=now)[0]


def known_spot(desk: Desk, spot: Spot, now: datetime) -> None:
    """Refuse what is no pool, machine or device, with those that there are."""
    policy = desk.book.known
    # Also where no policy can be read, a device that is at fault can be taken out.
    there = (*(declared(policy) if policy is not None else ()), *_found(desk, now))
    match spot.place:
        case "pool":
            names, what = set(policy.pools if policy is not None else ()), _("pool")
        case "node":
            names, what = {device.node for device in there}, _("machine")
        case "device":
            # Where no agent has reported since the start, its readings of before name it.
            names, what = {device.id for device in there} | _remembered(desk, now), _("device")
    if spot.name not in names:
        raise named(f"no-such-{spot.place}", what, spot.name, sorted(names)[:20])


def _remembered(desk: Desk, now: datetime) -> set[DeviceId]:
    with desk.turn(now) as turn:
        held = {device.id for lease in turn.tx.leases() for device in lease.takes}
    return held | set(desk.outages.devices) | set(desk.samples.devices())


def _write(desk: Desk, kind: str, body: dict[str, object], actor: Actor, now: datetime) -> None:
    recorded(desk, Event(kind=kind, at=now, actor=actor, body={"v": 1, **body}))


def recorded(desk: Desk, event: Event) -> None:
    """Write an event of devices, then let it hold; whoever holds one there has news."""
    with desk.turn(event.at, event.actor) as turn:
        turn.tx.append(event)
        if event.kind == BACK:
            finish(turn, {DeviceId(str(event.body["device"]))})
        keys = {lease.key for lease in turn.tx.leases() if lease.holding}
    # Only what is on the record holds.
    desk.outages.apply(event)
    desk.changed |= keys
