"""Budgets as a gate: whether there is money for a request, in words and figures.

The arithmetic is in `budget`. Whether the answer acts depends on the mode, which is not judged
here.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from ..budget import Obstacle, Spending, Tile, binds, obstacle, tiles
from ..lease import Device, OpenLease, PoolName
from ..lease.budgets import Budgeted
from ..lease.reserving import Reserved
from ..lease.switching import CHANGE_NOTICE
from ..policy.catalogue import lifetime_of
from ..policy.model import Policy
from ..policy.prices import Tier, price_spans, tier_of
from ..units import instant_us
from .budget_words import end_words, is_never, numbers, obstacle_words
from .decision import Denied, Queued
from .levels import inside
from .reasons import refuse, wait
from .snapshot import Demand, Scene

_One = TypeVar("_One", OpenLease, Reserved)


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
        ahead=[
            *(spending(scene, one, given) for one, given in scene.taken),
            *_former(scene, demand),
        ],
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
        ends=None if found.code == "budget-short" else _end(found),
        at=snapshot.at,
        when=end_words(scene.policy, found.budget, found.step),
    )


def _end(found: Obstacle) -> datetime:
    """When what is in the way is over."""
    until = found.step.until if found.step is not None else None
    return found.budget.end if until is None else min(until, found.budget.end)


def kind(scene: Scene, demand: Demand) -> tuple[str, ...]:
    """What the answer depends on beside team, project, flavor and task type."""
    bound = _bound(scene, demand)
    if not bound:
        return ()
    each, hard = any(one.each for one in bound), any(one.hard for one in bound)
    return (
        demand.key.user if each else "",
        str(demand.units),
        demand.profile if hard else "",
        *((str(demand.lifetime_s), str(demand.until), *_own(scene, demand)) if hard else ()),
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
    tier: Tier = "guaranteed" if _inside(scene, demand) else "dearest"
    what = (demand.flavor, life, tier)
    if what not in known:
        spans = price_spans(scene.policy, demand.pool, demand.flavor, at, at + life, tier)
        known[what] = tiles(spans)
    rest = devices[max(1, demand.gpus) :] if demand.alone is not None else ()
    return Spending(
        team=demand.team,
        project=demand.project,
        user=demand.key.user,
        start_us=instant_us(at),
        end_us=instant_us(at + life),
        tiles=(*known[what], *_rest(scene.policy, scene.pool, rest, (at, at + life), tier)),
        units=demand.units,
    )


def _own(scene: Scene, demand: Demand) -> list[str]:
    """Leases of its own server, which end when it starts, and what is reserved for it."""
    wanted = (demand.key, demand.team, demand.pool, demand.flavor)
    booked = _by_user(scene, "booked", scene.snapshot.reservations).get(demand.key.user, [])
    # Of a weekly one several times are known.
    kept = {one.id for one in booked if (one.key, one.team, one.pool, one.flavor) == wanted}
    return [*(one.id for one in _holders(scene, demand)), *sorted(kept)]


def _holders(scene: Scene, demand: Demand) -> list[OpenLease]:
    """Leases of its own server that hold devices."""
    held = (one for one in scene.snapshot.leases if one.holding)
    mine = _by_user(scene, "holders", held).get(demand.key.user, [])
    return [one for one in mine if one.key == demand.key]


def _by_user(scene: Scene, name: str, every: Iterable[_One]) -> Mapping[str, list[_One]]:
    """Sort by person what each of many requests is held against; once for all of them."""
    known = scene.before.__dict__
    if name not in known:
        found = known[name] = defaultdict(list)
        for one in every:
            found[one.key.user].append(one)
    by_user: Mapping[str, list[_One]] = known[name]
    return by_user


def _former(scene: Scene, demand: Demand) -> Iterator[Spending]:
    """What the lease that it replaces may cost until it has stopped: that does not come back."""
    at, policy = scene.snapshot.at, scene.policy
    end = at + CHANGE_NOTICE + _A_ROUND + policy.notice.stop_limit
    for one in _holders(scene, demand):
        if one.id == demand.replaces and one.pool in policy.pools:
            tier = tier_of(one.standing)
            spans = price_spans(policy, one.pool, one.flavor, at, end, tier)
            yield Spending(
                team=one.team,
                project=one.project,
                user=one.key.user,
                start_us=instant_us(at),
                end_us=instant_us(end),
                tiles=(*tiles(spans), *_rest(policy, one.pool, one.rest, (at, end), tier)),
            )


_A_ROUND = timedelta(minutes=1)
"""Until a notice that has run out is acted on."""


def _life(scene: Scene, demand: Demand) -> timedelta:
    if demand.until is not None:
        return max(timedelta(0), demand.until - scene.snapshot.at)
    return lifetime_of(
        scene.policy, demand.team, demand.profile, demand.lifetime_s, demand.task_type
    )


def _rest(
    policy: Policy,
    pool: PoolName,
    devices: Sequence[Device],
    span: tuple[datetime, datetime],
    tier: Tier,
) -> tuple[Tile, ...]:
    """Prices of what is kept empty beside a request that is alone."""
    counts = Counter("gpu-1" if one.part is None else one.part for one in devices)
    return tuple(
        tile
        for flavor, count in counts.items()
        for tile in tiles(price_spans(policy, pool, flavor, *span, tier), count)
    )


def _inside(scene: Scene, demand: Demand) -> bool:
    queue = scene.queue(demand)
    return queue in scene.quotas.nodes and inside(scene.quotas, queue, demand.units)
