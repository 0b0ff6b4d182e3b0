"""Requests that have waited too long, where a pool says how long that is: nobody younger passes.

One inside its guarantee holds up everybody younger. One that would borrow holds up its own team,
and who would borrow as well: owners come before borrowers, or neither could ever start.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..i18n import _
from ..units import duration_text
from .decision import Decision, Queued
from .levels import inside
from .priority import BAND, HIGHEST
from .reasons import first_end, wait
from .snapshot import Demand, Scene

OF_ROOM = frozenset(
    {
        "nothing-to-borrow",
        "guarantee-lent",
        "capacity-missing",
        "no-room",
        "no-device-free",
    }
)
"""Waits for room in the pool, which anybody who starts makes longer."""

OF_TEAM = OF_ROOM | {
    "guarantee-used",
    "borrowing-limit",
    "project-limit",
    "only-guaranteed",
    "owner-waits",
}
"""Waits for quota, which a colleague who starts makes longer; caps are none of them."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A request that has waited too long and does not fit yet."""

    demand: Demand
    inside: bool
    code: str
    limit: timedelta


def limit_of(scene: Scene) -> timedelta | None:
    """How long a request of the pool waits before nobody younger may pass it."""
    return scene.policy.pools[scene.pool].starve_after


def is_overdue(scene: Scene, demand: Demand) -> bool:
    """Whether a request has waited longer than its pool lets anybody wait."""
    limit = limit_of(scene)
    enforced = scene.policy.modes.quota == "enforce"
    return limit is not None and enforced and demand.waits_since <= scene.snapshot.at - limit


def overdue(
    scene: Scene, entries: Iterable[tuple[Demand, ...]]
) -> tuple[list[tuple[Demand, ...]], list[tuple[Demand, ...]]]:
    """Part those that have waited too long, the oldest first, from the others.

    Before them comes whoever has called others in: what those leave is for it alone.
    """
    limit, rest, first = limit_of(scene), list(entries), list[tuple[Demand, ...]]()
    if limit is None or scene.policy.modes.quota != "enforce":
        return first, rest
    since = scene.snapshot.at - limit
    first = [entry for entry in rest if calls(entry[0]) or entry[0].waits_since <= since]
    known = {id(entry) for entry in first}
    first.sort(key=lambda entry: (not calls(entry[0]), *age(entry[0])))
    return first, [entry for entry in rest if id(entry) not in known]


def bar_of(scene: Scene, demand: Demand, decision: Decision) -> Bar | None:
    """Hold others up for an overdue request that waits for room or for its team's quota."""
    limit = limit_of(scene)
    if limit is None or not is_overdue(scene, demand):
        return None
    if not isinstance(decision, Queued) or decision.reason.code not in OF_TEAM:
        return None
    within = inside(scene.quotas, scene.queue(demand), demand.units)
    return Bar(demand, within, decision.reason.code, limit)


def barred(scene: Scene, bars: Sequence[Bar], demand: Demand) -> Queued | None:
    """Let a request wait for an older one that has waited too long."""
    held_up = [bar for bar in bars if _stands_in_the_way(scene, bar, demand)]
    if not held_up:
        return None
    message = _(
        "A request of pool {pool} has waited for more than {limit}: until it has started, nobody "
        "who came later passes it."
    ).format(pool=scene.pool, limit=duration_text(held_up[0].limit))
    numbers: dict[str, int | str] = {
        "team": demand.team,
        "pool": demand.pool,
        "overdue": len(held_up),
        "starve_after_s": int(held_up[0].limit.total_seconds()),
    }
    return wait("overdue-waits", message, numbers, ends=first_end(scene), at=scene.snapshot.at)


def _stands_in_the_way(scene: Scene, bar: Bar, demand: Demand) -> bool:
    if age(demand) <= age(bar.demand) or calls(demand):
        return False
    if demand.team == bar.demand.team:
        return True
    if bar.code not in OF_ROOM:
        return False
    queue = scene.queue(demand)
    borrows = queue in scene.quotas.nodes and not inside(scene.quotas, queue, demand.units)
    return bar.inside or borrows


def calls(demand: Demand) -> bool:
    """Whether others are called in for a request: it alone has the highest weight."""
    return demand.priority % BAND == HIGHEST


def age(demand: Demand) -> tuple[datetime, str]:
    """Sort key by which the older comes first."""
    return (demand.requested_at, demand.tie)
