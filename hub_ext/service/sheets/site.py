"""The admin's page: every pool with its devices, every lease, and how the policy stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...i18n import _
from ...lease import (
    BatchLoad,
    Device,
    DeviceId,
    LeaseView,
    OpenLease,
    PolicyState,
    PoolLoad,
    PoolMap,
)
from ...lease.budgets import BudgetRow
from ...lease.idling import IdleSheet
from ...lease.trying import TrialSheet
from ...lease.waits import WaitSheet
from ...ledger.generations import Generation
from ...policy.model import Policy
from ..books import formats
from ..core.governor import Governor
from ..rules.unenforced import DayRow as UnenforcedRow
from . import budgets, kueue, trials, upkeep, waits
from .gpus import Drawing, drawing
from .rows import lease_row
from .upkeep import Upkeep

MOST_GENERATIONS = 10
"""Policies that are listed; all are in the ledger."""


@dataclass(frozen=True)
class Site:
    """The whole site at one instant, as the core gave it. `policy` is None before the first."""

    policy: Policy | None
    state: PolicyState
    generations: tuple[Generation, ...]
    problems: Mapping[str, tuple[str, ...]]
    pools: tuple[PoolLoad, ...]
    maps: tuple[PoolMap, ...]
    devices: tuple[Device, ...]
    leases: tuple[OpenLease, ...]
    now: datetime
    unenforced: tuple[UnenforcedRow, ...] = ()
    upkeep: Upkeep | None = None
    waits: WaitSheet | None = None
    budgets: tuple[BudgetRow, ...] = ()
    batch: tuple[BatchLoad, ...] = ()
    idle: IdleSheet | None = None
    trials: TrialSheet | None = None


@dataclass(frozen=True)
class DeviceRow:
    """One declared device: free, held by whom, or not found."""

    place: str
    kind: str
    state: str
    state_key: str
    holder: str
    href: str


@dataclass(frozen=True)
class PoolRows:
    """One pool with its figures and devices."""

    name: str
    model: str
    declared: str
    usable: str
    held: str
    free: str
    leases: int
    devices: tuple[DeviceRow, ...]
    drawing: Drawing
    simulated: bool


def gather(governor: Governor, now: datetime) -> Site:
    """Read everything of the site, in the core's thread."""
    policy = governor.known_policy
    return Site(
        policy=policy,
        state=governor.policy_state,
        generations=governor.generations(MOST_GENERATIONS),
        problems=governor.problems(now=now),
        pools=governor.queue(now=now).pools if policy else (),
        maps=governor.capacity(now=now).pools if policy else (),
        devices=governor.devices(now=now),
        leases=governor.leases(),
        unenforced=governor.unenforced(now=now),
        upkeep=upkeep.gather(governor, now),
        waits=governor.waits(now=now) if policy else None,
        budgets=governor.budgets(now=now) if policy else (),
        batch=governor.queue(now=now).batch if policy else (),
        idle=governor.idleness(now=now),
        trials=governor.idle_trials(now=now),
        now=now,
    )


def sheet(site: Site, views: Sequence[LeaseView]) -> dict[str, object]:
    """Put it into words; `views` show the open leases."""
    zone = site.policy.timezone if site.policy else "UTC"
    leases = [(view, view.lease) for view in views if view.lease is not None]
    held = {device.id: lease for _view, lease in leases for device in lease.devices}
    maps = {one.pool: one for one in site.maps}
    idle_held = site.idle.held if site.idle is not None else None
    return {
        **(upkeep.sheet(site.upkeep) if site.upkeep is not None else {}),
        **(trials.sheet(site.trials) if site.trials is not None else {}),
        **waits.sheet(site.waits, site.policy),
        **budgets.sheet(site.budgets, zone),
        **kueue.sheet(site.batch, site.problems.get("kueue", ()), zone),
        "pools": tuple(_pool(load, maps[load.pool], site.devices, held) for load in site.pools),
        "leases": tuple(lease_row(view, lease, site.policy, zone) for view, lease in leases),
        "idle_held": idle_held,
        "idle_since": formats.instant(idle_held.since, zone) if idle_held else "",
        "teams": tuple(site.policy.teams) if site.policy else (),
        "state": site.state,
        "applied": formats.instant(site.state.applied_at, zone),
        "problem_at": formats.instant(site.state.problem_at, zone) if site.state.problem_at else "",
        "waiting_at": formats.instant(site.state.waiting_at, zone) if site.state.waiting_at else "",
        "generations": [
            {
                "number": one.number,
                "at": formats.instant(one.at, zone),
                "by": one.actor.name,
                "lines": one.summary.splitlines(),
                "sha256": one.sha256[:12],
            }
            for one in site.generations
        ],
        "unenforced": site.unenforced,
        "drift": site.problems.get("drift", ()),
        "out_of_service": site.problems.get("devices", ()),
        "servers_problem": site.problems.get("servers", ()),
        "agents": site.problems.get("agents", ()),
        "modes": site.policy.modes if site.policy else None,
        "simulated": any(device.simulated for device in site.devices),
    }


def _pool(
    load: PoolLoad,
    map_: PoolMap,
    devices: Sequence[Device],
    held: Mapping[DeviceId, OpenLease],
) -> PoolRows:
    here = [device for device in devices if device.pool == load.pool]
    free = sum(device.id not in held for device in here)
    gone = {
        device.id: device
        for lease in held.values()
        for device in lease.devices
        if device.pool == load.pool and device.id not in {one.id for one in here}
    }
    rows = [_device(device, held.get(device.id), lost=False) for device in here]
    rows += [_device(device, held.get(device.id), lost=True) for device in gone.values()]
    return PoolRows(
        name=load.pool,
        model=load.model,
        declared=formats.gpus(load.declared),
        usable=formats.gpus(load.usable),
        held=formats.gpus(load.held),
        free=_("{free} of {total} devices free").format(free=free, total=len(here)),
        leases=load.leases,
        devices=tuple(rows),
        drawing=drawing(map_),
        simulated=any(device.simulated for device in here),
    )


def _device(device: Device, lease: OpenLease | None, *, lost: bool) -> DeviceRow:
    place = _("{node}, GPU {gpu}").format(node=device.node, gpu=device.gpu)
    if device.start is not None:
        place = _("{place}, slice {start}").format(place=place, start=device.start)
    if lease is None:
        state, key = _("free"), "free"
    elif lost:
        state, key = _("held, not found any more"), "lost"
    else:
        state, key = _("held"), "held"
    return DeviceRow(
        place=place,
        kind=device.part or _("whole GPU"),
        state=state,
        state_key=key,
        holder=f"{lease.key.user} ({lease.team})" if lease else "",
        href=f"leases/{lease.id}" if lease else "",
    )
