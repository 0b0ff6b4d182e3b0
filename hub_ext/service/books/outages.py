"""Which devices are out of service or drained: held in memory, made of the ledger's own events.

Every change is an event first, with who and why. It decides nothing about leases.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from ...admission.announced import first_of, maintenance_words
from ...i18n import _
from ...lease import (
    GOVERNOR,
    Device,
    DeviceId,
    Drain,
    Event,
    Maintenance,
    OpenLease,
    Outage,
    TeamName,
)
from ...ledger.store import Ledger, Tx

OUT = "device.out"
BACK = "device.back"
DRAIN = "admin.drain"
LIFT = "admin.lift"
ANNOUNCE = "admin.announce"
CALL_OFF = "admin.call_off"

EVERY_KIND = (OUT, BACK, DRAIN, LIFT, ANNOUNCE, CALL_OFF)
"""Kinds of events that change what is in service."""

UNSEEN = timedelta(minutes=2)
"""A device that was not seen empty for so long is told of; the next reading comes in seconds."""


class Unclean(NamedTuple):
    """A device that nobody has seen empty since a lease of this team ended on it."""

    team: TeamName
    since: datetime


@dataclass
class Outages:
    """The state that the events so far have made.

    `doubts` counts readings in a row that speak against a free device, `passed` those that speak
    for one that is out, `unclean` are free devices that no other team gets yet; all three are
    forgotten at a restart, and each device is read before it is handed out then. `accepted` are
    signs of a fault with which an administrator brought a device back.
    """

    devices: dict[DeviceId, Outage] = field(default_factory=dict)
    drains: dict[tuple[str, str], Drain] = field(default_factory=dict)
    maintenance: dict[str, Maintenance] = field(default_factory=dict)
    doubts: dict[DeviceId, int] = field(default_factory=dict)
    passed: dict[DeviceId, int] = field(default_factory=dict)
    unclean: dict[DeviceId, Unclean] = field(default_factory=dict)
    accepted: dict[DeviceId, frozenset[str]] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take one event."""
        body = event.body
        match event.kind:
            case "device.out":
                outage = Outage.model_validate(body["outage"])
                self.devices[outage.device] = outage
            case "device.back":
                device = DeviceId(str(body["device"]))
                was = self.devices.pop(device, None)
                if event.actor != GOVERNOR and was is not None and was.signs:
                    self.accepted[device] = frozenset(was.signs)
                self.passed.pop(device, None)
                self.doubts.pop(device, None)
                self.unclean.pop(device, None)
            case "admin.drain":
                drain = Drain.model_validate(body["drain"])
                self.drains[drain.place, drain.name] = drain
            case "admin.lift":
                self.drains.pop((str(body["place"]), str(body["name"])), None)
            case "admin.announce":
                announced = Maintenance.model_validate(body["maintenance"])
                self.maintenance[announced.id] = announced
            case "admin.call_off":
                self.maintenance.pop(str(body["id"]), None)
            case _:
                pass

    def drain_of(self, device: Device) -> Drain | None:
        """The drain that a device is under; of several the one that ends first."""
        names = {("pool", device.pool), ("node", device.node), ("device", device.id)}
        found = [drain for key, drain in self.drains.items() if key in names]
        return min(found, key=lambda drain: (drain.ends_at, drain.place), default=None)

    def announced(self, now: datetime) -> tuple[Maintenance, ...]:
        """Maintenance that is not over, the next first."""
        coming = [one for one in self.maintenance.values() if one.end > now]
        return tuple(sorted(coming, key=lambda one: (one.start, one.end, one.id)))

    def closes(self, device: Device, now: datetime, ahead: timedelta) -> bool:
        """Whether a device may not be handed out; not either `ahead` of its maintenance."""
        out = device.id in self.devices or self.doubts.get(device.id, 0) > 0
        return (
            out
            or self.drain_of(device) is not None
            or any(
                one.closes(now, ahead) and one.covers(device) for one in self.maintenance.values()
            )
        )

    def drain_for(self, lease: OpenLease) -> Drain | None:
        """The drain that ends a lease, the first of its devices' drains."""
        found = [one for device in lease.devices if (one := self.drain_of(device)) is not None]
        return min(found, key=lambda drain: drain.ends_at, default=None)

    def maintenance_for(self, lease: OpenLease, now: datetime) -> Maintenance | None:
        """The first maintenance that a lease would run into."""
        return first_of(
            one
            for one in self.announced(now)
            if (lease.ends_at is None or lease.ends_at > one.start)
            and any(one.covers(device) for device in lease.devices)
        )

    def words(self, now: datetime, ahead: timedelta, zone: str) -> tuple[str, ...]:
        """One sentence for each outage, drain and maintenance that keeps devices away now."""
        return (
            *map(outage_words, self.devices.values()),
            *map(drain_words, self.drains.values()),
            *(
                _("{device} is kept for team {team}: its memory has not been seen free").format(
                    device=device, team=one.team
                )
                for device, one in self.unclean.items()
                if now - one.since > UNSEEN
            ),
            *(
                maintenance_words(one, zone).rstrip(".")
                for one in self.announced(now)
                if one.closes(now, ahead)
            ),
        )


def outage_words(outage: Outage) -> str:
    """Say what is out, and why."""
    return _("{device} is out of service: {words}").format(device=outage.device, words=outage.words)


def drain_words(drain: Drain) -> str:
    """Say what gets no new lease, and why."""
    places = {"pool": _("pool"), "node": _("machine"), "device": _("device")}
    return _("no new lease in {place} {name}: {reason} ({by})").format(
        place=places[drain.place], name=drain.name, reason=drain.reason, by=drain.by
    )


def read(ledger: Ledger) -> Outages:
    """Make the present state of all events; they are few, and found by their kind."""
    with ledger.transaction() as tx:
        return of_ledger(tx)


def of_ledger(tx: Tx) -> Outages:
    """Make it in a transaction, be it one that only reads."""
    outages = Outages()
    for event in tx.every(EVERY_KIND):
        outages.apply(event)
    return outages


def serving(
    devices: Iterable[Device], outages: Outages, now: datetime, ahead: timedelta
) -> tuple[Device, ...]:
    """Leave out what may not be handed out."""
    coming = any(one.closes(now, ahead) for one in outages.maintenance.values())
    if not (outages.devices or outages.doubts or outages.drains or coming):
        return tuple(devices)
    return tuple(device for device in devices if not outages.closes(device, now, ahead))
