"""Reservations to come bound leases that would run into them; what is kept for one is not free.

A lease ends at the start of the first reservation that would lack its device or quota beside it.
One that could live only for minutes waits.
"""

from datetime import datetime

from ..i18n import _
from ..lease import Device, OpenLease, local_text
from ..lease.reserving import Reserved
from ..policy.room import SHORTEST, held_devices, may_be_drained, room_for, stays
from ..units import duration_text
from .decision import Admitted, Queued
from .reasons import wait
from .snapshot import Demand, Scene


def fitted(scene: Scene, demand: Demand, admitted: Admitted) -> Admitted | Queued:
    """Let an admitted lease end where a reservation needs its device, or wait for that to pass."""
    first = in_the_way(scene, demand, admitted.devices)
    if first is None:
        return admitted
    at, zone = scene.snapshot.at, scene.policy.timezone
    if first.start - at >= SHORTEST:
        return admitted.until(first.start, crossing_words(first, zone))
    message = _(
        "{why} That is in less than {shortest}, too soon for another server on its devices."
    ).format(why=crossing_words(first, zone), shortest=duration_text(SHORTEST))
    figures: dict[str, int | str] = {
        "pool": scene.pool,
        "reserved_from": local_text(first.start, zone),
        "reserved_until": local_text(first.end, zone),
    }
    return wait("reserved", message, figures, ends=(), at=at)


def in_the_way(scene: Scene, demand: Demand, devices: tuple[Device, ...]) -> Reserved | None:
    """Find the first reservation that would lack room or quota beside these devices.

    One that has begun and has nothing yet counts where these devices are what it lacks.
    """
    at = scene.snapshot.at
    for one in sorted(scene.reserved, key=lambda one: (one.start, one.id)):
        if one.start > at:
            lacks = not _leaves_room(scene, one, demand, devices)
        elif one.lease_id is None and not one.devices:
            lacks = not _leaves_room(scene, one, demand, devices) and _leaves_room(scene, one)
        else:
            continue
        if lacks:
            return one
    return None


def crossing_words(one: Reserved, zone: str) -> str:
    """Say in a sentence, without a name, what begins then."""
    return _("Pool {pool} is reserved from {start} to {end}.").format(
        pool=one.pool, start=local_text(one.start, zone), end=local_text(one.end, zone)
    )


def _leaves_room(
    scene: Scene,
    one: Reserved,
    demand: Demand | None = None,
    devices: tuple[Device, ...] = (),
) -> bool:
    """Whether a reservation has its devices and quota, beside what a demand would take."""
    at = max(one.start, scene.snapshot.at)
    beside = [other for other in scene.reserved if other.start <= at < other.end]
    staying = _staying(scene, one, beside, at)
    if demand is None or demand.team == one.team:
        used = sum(lease.units for lease in staying if lease.team == one.team)
        used += sum(other.units for other in beside if other.team == one.team)
        used += 0 if demand is None else demand.units
        if used > _nominal(scene, one):
            return False
    taken = (*held_devices(staying), *devices)
    return room_for(scene.devices, taken, beside, scene.snapshot.pinned) is not None


def _nominal(scene: Scene, one: Reserved) -> int:
    team = scene.policy.teams.get(one.team)
    quota = team.quota.get(scene.pool) if team is not None else None
    return 0 if quota is None else quota.nominal


def _staying(scene: Scene, one: Reserved, beside: list[Reserved], at: datetime) -> list[OpenLease]:
    """Leases of the pool that still hold devices then and may not be called in.

    What its owner's own server holds is not counted: it changes over to the reservation.
    """
    policy, now = scene.policy, scene.snapshot.at
    counted = {other.lease_id for other in beside}
    called_in = max(at, now + policy.pools[scene.pool].notice)
    return [
        lease
        for lease in scene.holding
        if lease.id not in counted
        and lease.key != one.key
        and stays(lease, at)
        and not may_be_drained(policy, lease, called_in, now)
    ]
