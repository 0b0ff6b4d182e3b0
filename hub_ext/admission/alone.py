"""Devices for a lease that shares its GPU or machine with nobody: what it uses, then the rest.

Which of them it is, and in what order they are tried, is `mig.alone`'s.
"""

from ..i18n import _
from ..lease import Device, DeviceId
from ..mig.alone import pick_alone
from .decision import Queued
from .reasons import Standings, figures, wait, wanted
from .snapshot import Demand, Scene


def take(scene: Scene, demand: Demand, held: frozenset[DeviceId]) -> tuple[Device, ...] | None:
    """Choose a GPU or machine of which nothing is held; None where there is none now."""
    taken = [device for device in scene.known if device.id in held]
    return _pick(scene.devices, taken, demand)


def serves(devices: tuple[Device, ...], demand: Demand) -> bool:
    """Whether devices serve it with nothing held."""
    return _pick(devices, [], demand) is not None


def none_free(scene: Scene, demand: Demand, now: Standings) -> Queued:
    """Say that servers of others are on every GPU or machine that would serve."""
    message = _(
        "On every {what} of pool {pool} that serves {wants} there are servers of others, and this "
        "shares it with nobody."
    ).format(
        what=_("GPU") if demand.alone == "gpu" else _("machine"),
        pool=demand.pool,
        wants=wanted(demand),
    )
    ends = scene.holding
    return wait("nothing-alone", message, figures(demand, now), ends=ends, at=scene.snapshot.at)


def _pick(
    devices: tuple[Device, ...], taken: list[Device], demand: Demand
) -> tuple[Device, ...] | None:
    if demand.alone is None:
        return None
    whole = pick_alone(
        devices,
        taken,
        demand.alone,
        gpus=demand.gpus,
        mig_profile=demand.mig_profile,
        most_units=demand.units,
    )
    return None if whole is None else (*whole.devices, *whole.rest)
