"""Whether a device serves a demand: ever, at present, and now. Quota is not asked here."""

from collections.abc import Collection

from ..i18n import _
from ..lease import Device, DeviceId, LeaseId
from ..mig.geometry import SHARE
from ..mig.placement import pick
from ..units import gpus_text
from . import alone
from .announced import avoiding, over_at
from .asked import asked_for, placement_mix
from .decision import Denied, Queued
from .owned import foreign, unclean
from .reasons import Figures, Standings, figures, gpus, refuse, wait, wanted
from .room import room_figures, room_words, soonest_room
from .snapshot import Demand, Scene
from .together import barred_in


def in_service(scene: Scene, demand: Demand) -> Queued | Denied | None:
    """Refuse what no device of the pool serves: for good, or until it is found again."""
    if _serves(scene.devices, demand):
        return None
    if not _serves(scene.declared, demand):
        message = _(
            "Pool {pool} has nothing that serves {wants} on one machine. "
            "Choose another profile and tell an administrator."
        ).format(pool=demand.pool, wants=wanted(demand))
        return refuse("never-fits", message, {"pool": demand.pool, "flavor": demand.flavor})
    found, declared = len(scene.devices), len(scene.declared)
    notes = " ".join(f"{note}." for note in scene.snapshot.notes[:3])
    message = _(
        "The policy declares {declared} devices in pool {pool}, and {found} are in service; none "
        "of those serves {wants}. {notes}"
    ).format(declared=declared, pool=demand.pool, found=found, wants=wanted(demand), notes=notes)
    numbers: Figures = {"pool": demand.pool, "declared": declared, "found": found}
    answer = wait("no-device-found", message.strip(), numbers, ends=(), at=scene.snapshot.at)
    over = over_at(scene)
    return answer if over is None else answer.again_at(over, scene.snapshot.at)


def place(scene: Scene, demand: Demand) -> tuple[Device, ...] | None:
    """Choose devices that are in service and free; None where nothing fits now.

    Those for which maintenance is announced are taken last, because they shorten the lease.
    """
    away = scene.held | unclean(scene, demand)
    for aside in avoiding(scene):
        found = _take(scene, demand, away | aside)
        if found is not None:
            return found
    return None


def room_after(
    scene: Scene, demand: Demand, gone: Collection[LeaseId]
) -> tuple[Device, ...] | None:
    """Choose devices as if some leases had ended already; None where their end makes no room.

    Quota is not asked: units that come free are no room unless they have the shape wanted.
    """
    left = frozenset(
        device.id
        for lease in scene.others
        if lease.holding and lease.id in gone
        for device in lease.takes
    )
    ahead = frozenset(device.id for _other, devices in scene.taken for device in devices)
    return _take(scene, demand, (scene.held - left) | ahead, gone)


def _take(
    scene: Scene,
    demand: Demand,
    held: frozenset[DeviceId],
    gone: Collection[LeaseId] = (),
) -> tuple[Device, ...] | None:
    held |= foreign(scene, demand)
    if demand.alone is not None:
        return alone.take(scene, demand, held)
    mix = None
    if (demand.mig_profile or "").startswith(SHARE):
        held |= barred_in(scene, demand, gone)
    elif demand.mig_profile is not None:
        # Whoever asks belongs to the mix only while they wait: an offer changes no placement.
        flavors = [one.flavor for one in scene.holding]
        flavors += [one.flavor for one in scene.waiting]
        mix = placement_mix(asked_for(scene.policy, scene.pool, flavors))
    return pick(scene.devices, held, gpus=demand.gpus, mig_profile=demand.mig_profile, mix=mix)


def no_room(scene: Scene, demand: Demand, now: Standings) -> Queued:
    """Say why nothing fits, with the layout, and which ends of leases would make room."""
    if demand.alone is not None:
        return alone.none_free(scene, demand, now)
    at = scene.snapshot.at
    if unclean(scene, demand) and _take(scene, demand, scene.held) is not None:
        return _not_clean(scene, demand, now)
    room = soonest_room(scene, demand)
    numbers = {**figures(demand, now), "free_gpus": gpus_text(now.free_units)}
    code, message = "no-device-free", _all_taken(scene, demand)
    if now.free_units >= demand.units:
        code, message = "no-room", _wrong_shape(scene, demand, now)
    if room is None:
        return wait(code, message, numbers, ends=(), at=at)
    numbers |= room_figures(room)
    words = room_words(room, at)
    return wait(code, message, numbers, ends=room.last, at=at, when=words)


def _not_clean(scene: Scene, demand: Demand, now: Standings) -> Queued:
    """Say that a device is free, and is looked at before another team gets it."""
    message = _(
        "A device of pool {pool} has just come free. It is looked at before another team gets it: "
        "something of the former server may be left there."
    ).format(pool=demand.pool)
    at, soon = scene.snapshot.at, _("That takes seconds.")
    return wait("not-clean", message, figures(demand, now), ends=at, at=at, when=soon)


def _wrong_shape(scene: Scene, demand: Demand, now: Standings) -> str:
    return _(
        "{free} of pool {pool} are free, but no room for {wants}: the free devices are {kinds}."
    ).format(
        free=gpus(now.free_units),
        pool=demand.pool,
        wants=wanted(demand),
        kinds=_kinds(scene, foreign(scene, demand)),
    )


def _all_taken(scene: Scene, demand: Demand) -> str:
    return _(
        "No device of pool {pool} that serves {wants} is free: {held} servers hold GPUs there."
    ).format(pool=demand.pool, wants=wanted(demand), held=len(scene.holding))


def _serves(devices: tuple[Device, ...], demand: Demand) -> bool:
    """Whether devices serve a demand with nothing held; the first that does alone is enough."""
    if demand.alone is not None:
        return alone.serves(devices, demand)
    if demand.gpus <= 1 and any(one.part == demand.mig_profile for one in devices):
        return True
    return pick(devices, frozenset(), gpus=demand.gpus, mig_profile=demand.mig_profile) is not None


def _kinds(scene: Scene, away: Collection[DeviceId]) -> str:
    """Describe the free devices by machine: the layout a person can compare with the wish.

    What is kept for another project is none of them.
    """
    counts: dict[tuple[str, str], int] = {}
    for device in scene.devices:
        if device.id not in scene.held and device.id not in away:
            kind = (device.node, device.part or _("whole GPU"))
            counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(
        _("{count} x {kind} on {node}").format(count=count, kind=kind, node=node)
        for (node, kind), count in sorted(counts.items())
    )
