"""Which leases have to end so that a request finds its devices, and when they will have.

Quota and turns are not asked here: whoever is ahead may take the room first.
"""

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..i18n import _, ngettext
from ..lease import Device, DeviceId, OpenLease
from ..mig.geometry import SHARE
from .owned import foreign
from .reasons import Figures, minutes_text, release_at
from .snapshot import Demand, Scene

NEVER = datetime.max.replace(tzinfo=UTC)
"""End of a lease that declares none."""


@dataclass(frozen=True, slots=True)
class Room:
    """The fewest ends that make room soonest.

    `leases` end in this order; `at` is the last declared end, None where one declares none;
    `devices` are those that it fits on, of what they leave and what is free there already.
    """

    leases: tuple[OpenLease, ...]
    at: datetime | None
    devices: tuple[Device, ...]

    @property
    def node(self) -> str:
        """Machine on which the room is."""
        return self.devices[0].node

    @property
    def spot(self) -> str:
        """The GPUs on which the room is, in words."""
        indices = sorted({device.gpu for device in self.devices})
        text = ", ".join(str(index) for index in indices)
        return ngettext("GPU {gpus} of {node}", "GPUs {gpus} of {node}", len(indices)).format(
            gpus=text, node=self.node
        )

    @property
    def last(self) -> tuple[OpenLease, ...]:
        """The lease that ends last: with it there is room."""
        return self.leases[-1:]


MOST_ENDS = 4
"""So many ends are told one by one."""


def soonest_room(scene: Scene, demand: Demand) -> Room | None:
    """Find the ends that make room soonest; None where no end of a lease does.

    Room on the first machine by name, where several have it at the same time.
    """
    if (demand.mig_profile or "").startswith(SHARE):
        return soonest_turn(scene, demand)
    ahead = {device.id for _other, devices in scene.taken for device in devices}
    ahead |= foreign(scene, demand)
    sites: dict[str, _Machine] = defaultdict(_Machine)
    for device in scene.devices:
        if device.part == demand.mig_profile and device.id not in ahead:
            sites[device.node].devices[device.id] = device
    for lease in scene.holding:
        end = release_at(lease, scene.snapshot.at)
        at = NEVER if end is None else max(scene.snapshot.at, end)
        for node in {device.node for device in lease.takes}:
            sites[node].ending.append((at, lease))
    found = [room for one in sites.values() if (room := _on(one, scene.held, max(demand.gpus, 1)))]
    return min(
        found, key=lambda room: (room.at or NEVER, len(room.leases), room.node), default=None
    )


def room_figures(room: Room) -> Figures:
    """Name the numbers of a room to come."""
    return {"room_on": room.spot, "room_after_leases": len(room.leases)}


def room_words(room: Room, at: datetime) -> str:
    """Say in a sentence which ends make room, where, and when they come at the latest."""
    count = len(room.leases)
    if room.at is None:
        words = ngettext(
            "It fits on {spot} once the server there has ended; no end is declared.",
            "It fits on {spot} once {n} servers there have ended; for one no end is declared.",
            count,
        )
        return words.format(spot=room.spot, n=count)
    if count == 1:
        return _(
            "It fits on {spot} once a server there has ended, in {span} at the latest."
        ).format(spot=room.spot, span=minutes_text(at, room.at))
    ends = [release_at(lease, at) for lease in room.leases[:MOST_ENDS]]
    spans = ", ".join(minutes_text(at, end) for end in ends if end is not None)
    words = _(
        "It fits on {spot} once {n} servers there have ended, in {spans}{more} at the latest."
    )
    more = "" if count <= MOST_ENDS else _(", …, {span}").format(span=minutes_text(at, room.at))
    return words.format(spot=room.spot, n=count, spans=spans, more=more)


def soonest_turn(scene: Scene, demand: Demand) -> Room | None:
    """Find the ends that make room on a shared GPU: one of its team, or all of another team's."""
    gpus: dict[tuple[str, int], list[Device]] = defaultdict(list)
    ahead = {device.id for _other, devices in scene.taken for device in devices}
    for device in scene.devices:
        if device.part == demand.mig_profile and device.id not in ahead:
            gpus[device.node, device.gpu].append(device)
    there: dict[tuple[str, int], list[tuple[datetime, OpenLease]]] = defaultdict(list)
    for lease in scene.holding:
        end = release_at(lease, scene.snapshot.at)
        at = NEVER if end is None else max(scene.snapshot.at, end)
        for spot in {(device.node, device.gpu) for device in lease.takes}:
            there[spot].append((at, lease))
    found = []
    for spot, devices in gpus.items():
        ending = sorted(there[spot], key=lambda each: (each[0], each[1].id))
        others = [each for each in ending if each[1].team != demand.team]
        chosen = others or ending[:1]
        if chosen:
            leases = tuple(lease for _at, lease in chosen)
            last = chosen[-1][0]
            device = min(devices, key=lambda one: one.id)
            found.append(Room(leases, None if last == NEVER else last, (device,)))
    return min(found, key=_order, default=None)


def _order(room: Room) -> tuple[datetime, int, str]:
    return room.at or NEVER, len(room.leases), room.spot


@dataclass
class _Machine:
    """Devices of one machine that serve a request, and the leases there with their ends."""

    devices: dict[DeviceId, Device] = field(default_factory=dict)
    ending: list[tuple[datetime, OpenLease]] = field(default_factory=list)


def _on(machine: _Machine, held: Container[DeviceId], wanted: int) -> Room | None:
    """Let the leases on one machine end, the soonest first, until the rest is no more needed."""
    here = machine.devices
    free = [device for name, device in here.items() if name not in held]
    missing = wanted - len(free)
    if len(here) < wanted or missing <= 0:
        return None
    chosen: list[tuple[datetime, OpenLease, int]] = []
    for at, lease in sorted(machine.ending, key=lambda each: (each[0], each[1].id)):
        count = sum(device.id in here for device in lease.takes)
        if count:
            chosen.append((at, lease, count))
            missing -= count
        if missing <= 0:
            break
    else:
        return None
    for each in chosen[:-1]:
        # A later end that frees much makes earlier ones needless.
        if each[2] <= -missing:
            chosen.remove(each)
            missing += each[2]
    leases = tuple(lease for _at, lease, _count in chosen)
    left = [device for lease in leases for device in lease.takes if device.id in here]
    devices = sorted((*free, *left), key=lambda one: (one.gpu, one.id))
    last = chosen[-1][0]
    return Room(leases, None if last == NEVER else last, tuple(devices[:wanted]))
