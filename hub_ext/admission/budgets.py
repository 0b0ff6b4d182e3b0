"""Budgets as a gate: whether there is money for a request, in words and figures.

The arithmetic is in `budget`. Whether the answer acts depends on the mode, which is not judged
here.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import timedelta

from ..budget import Spending, Tile, binds, obstacle, tiles
from ..lease import Device
from ..lease.budgets import Budgeted
from ..policy.catalogue import lifetime_of
from ..policy.prices import price_spans
from ..units import instant_us
from .budget_words import end_words, is_never, numbers, obstacle_words
from .decision import Denied, Queued
from .levels import inside
from .reasons import refuse, wait
from .snapshot import Demand, Scene


def money(scene: Scene, demand: Demand, devices: Sequence[Device] = ()) -> Queued | Denied | None:
    """Refuse what no budget can ever pay for; let wait what none pays for now.

    Parameters
    ----------
    devices
        What it would get, where that is known: what is kept empty beside it is paid for too.
    """
    snapshot, bound = scene.snapshot, _bound(scene, demand)
    if not bound:
        return None
    found = obstacle(
        bound,
        spending(scene, demand, devices),
        snapshot.at,
        inside=_inside(scene, demand),
        own=_own(scene, demand),
        ahead=[spending(scene, one, given) for one, given in scene.taken],
    )
    if found is None:
        return None
    words = obstacle_words(scene.policy, found, demand.key.user, demand.flavor, snapshot.at)
    if is_never(found):
        return refuse(found.code, words, numbers(found))
    return wait(
        found.code,
        words,
        numbers(found),
        ends=None if found.code == "budget-short" else found.budget.end,
        at=snapshot.at,
        when=end_words(scene.policy, found.budget),
    )


def kind(scene: Scene, demand: Demand) -> tuple[str, ...]:
    """What the answer depends on beside team, project, flavor and task type."""
    bound = _bound(scene, demand)
    if not bound:
        return ()
    each, hard = any(one.each for one in bound), any(one.hard for one in bound)
    return (
        demand.key.user if each else "",
        demand.profile if hard else "",
        str(demand.lifetime_s) if hard else "",
    )


def _bound(scene: Scene, demand: Demand) -> tuple[Budgeted, ...]:
    """Budgets that pay for a request; looked up once for all of its team and project."""
    if not scene.snapshot.budgets:
        return ()
    known = scene.before.__dict__.setdefault("budgets", {})
    owner = (demand.team, demand.project)
    if owner not in known:
        known[owner] = tuple(one for one in scene.snapshot.budgets if binds(one, *owner))
    found: tuple[Budgeted, ...] = known[owner]
    return found


def spending(scene: Scene, demand: Demand, devices: Sequence[Device] = ()) -> Spending:
    """What a request would cost from now to the end of its life."""
    at, life = scene.snapshot.at, _life(scene, demand)
    known = scene.before.__dict__.setdefault("prices", {})
    what = (demand.flavor, life)
    if what not in known:
        spans = price_spans(scene.policy, demand.pool, demand.flavor, at, at + life)
        known[what] = tiles(spans)
    rest = devices[max(1, demand.gpus) :] if demand.alone is not None else ()
    return Spending(
        team=demand.team,
        project=demand.project,
        user=demand.key.user,
        start_us=instant_us(at),
        end_us=instant_us(at + life),
        tiles=(*known[what], *_rest(scene, rest, life)),
    )


def _own(scene: Scene, demand: Demand) -> list[str]:
    """Leases of its own server, which end when it starts."""
    known = scene.before.__dict__
    if "holders" not in known:
        held = known["holders"] = defaultdict(list)
        for one in scene.snapshot.leases:
            if one.holding:
                held[one.key.user].append(one)
    return [one.id for one in known["holders"].get(demand.key.user, ()) if one.key == demand.key]


def _life(scene: Scene, demand: Demand) -> timedelta:
    return lifetime_of(
        scene.policy, demand.team, demand.profile, demand.lifetime_s, demand.task_type
    )


def _rest(scene: Scene, devices: Sequence[Device], life: timedelta) -> tuple[Tile, ...]:
    """Prices of what is kept empty beside a request that is alone."""
    at = scene.snapshot.at
    counts = Counter("gpu-1" if one.part is None else one.part for one in devices)
    return tuple(
        tile
        for flavor, count in counts.items()
        for tile in tiles(price_spans(scene.policy, scene.pool, flavor, at, at + life), count)
    )


def _inside(scene: Scene, demand: Demand) -> bool:
    queue = scene.queue(demand)
    return queue in scene.quotas.nodes and inside(scene.quotas, queue, demand.units)
