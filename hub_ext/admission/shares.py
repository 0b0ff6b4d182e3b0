"""The quota's own answer: inside the guarantee, within what may be borrowed, or why not.

Quota is not placement: nothing here asks which device it would be.
"""

from ..i18n import _
from ..units import gpus_text
from .decision import Denied, Queued
from .owners import owed
from .projects import project_limit, project_never, project_waits
from .reasons import (
    Standings,
    figures,
    first_end,
    gpus,
    holds,
    inside,
    refuse,
    short,
    until_guaranteed,
    wait,
    wanted,
)
from .snapshot import Demand, Scene

__all__ = ["inside", "shares"]


def shares(scene: Scene, demand: Demand, now: Standings) -> Queued | Denied | None:
    """Hold a demand against its team's quota; None where quota lets it pass."""
    if demand.units > now.potential:
        return project_never(scene, demand, now) or _beyond_limits(demand, now)
    if now.inside:
        return _inside(scene, demand, now)
    match scene.policy.teams[demand.team].over_quota:
        case "deny":
            return _over_guarantee(demand, now)
        case "queue":
            return _guarantee_used(scene, demand, now)
        case "borrow":
            return _borrowing(scene, demand, now)


def _inside(scene: Scene, demand: Demand, now: Standings) -> Queued | None:
    """Let it have what its team is guaranteed, unless a project's share or limit is in the way."""
    if owed(scene, demand):
        return project_waits(scene, demand, now)
    if demand.units <= now.available:
        return None
    return project_limit(scene, demand, now) or _lent(scene, demand, now)


def _borrowing(scene: Scene, demand: Demand, now: Standings) -> Queued | None:
    """Let it borrow, unless an owner waits in the pool or others leave too little."""
    waiting = owed(scene, demand)
    if waiting:
        return _owner_waits(scene, demand, now, waiting)
    if demand.units > now.available:
        return _nothing_to_borrow(scene, demand, now)
    return None


def _beyond_limits(demand: Demand, now: Standings) -> Denied:
    message = _(
        "This takes {wants}; team {team} can never hold more than {most} of pool {pool}: "
        "{nominal} guaranteed and what its limits let it borrow. Choose a smaller profile."
    ).format(
        wants=wanted(demand),
        team=demand.team,
        most=gpus(now.potential),
        pool=demand.pool,
        nominal=gpus(now.nominal),
    )
    numbers = {**figures(demand, now), "potential_gpus": gpus_text(now.potential)}
    return refuse("beyond-limits", message, numbers)


def _over_guarantee(demand: Demand, now: Standings) -> Denied:
    message = _(
        "Team {team} is guaranteed {nominal} of pool {pool} and holds {used}; this takes {wants}, "
        "and the team's policy refuses what exceeds the guarantee. "
        "Stop a server of the team first, or choose a smaller profile."
    ).format(**holds(demand, now))
    return refuse("over-guarantee", message, short(demand, now, now.nominal - now.used))


def _guarantee_used(scene: Scene, demand: Demand, now: Standings) -> Queued:
    message = _(
        "Team {team} is guaranteed {nominal} of pool {pool}, holds {used}, and does not borrow; "
        "this takes {wants}."
    )
    return until_guaranteed(scene, demand, now, "guarantee-used", message)


def _lent(scene: Scene, demand: Demand, now: Standings) -> Queued:
    quotas, numbers = scene.quotas, short(demand, now, now.available)
    lent = any(
        node.parent is not None and quotas.used(name) > quotas.shape.whole[name]
        for name, node in quotas.nodes.items()
    )
    if not lent:
        code = "capacity-missing"
        message = _(
            "The guarantee of team {team} in pool {pool} covers this ({nominal}, {used} held), but "
            "less is in service than the pool guarantees: {available} left of the {wants} it takes."
        )
    else:
        code = "guarantee-lent"
        message = _(
            "The guarantee of team {team} in pool {pool} covers this ({nominal}, {used} held), but "
            "others hold it just now: {available} left of the {wants} it takes."
        )
    text = message.format(**holds(demand, now), available=gpus(now.available))
    return wait(code, text, numbers, ends=first_end(scene, but=demand.team), at=scene.snapshot.at)


def _owner_waits(scene: Scene, demand: Demand, now: Standings, waiting: int) -> Queued:
    message = _(
        "Team {team} holds {used} of its guaranteed {nominal} in pool {pool}, so this would "
        "borrow; while a request inside another guarantee waits there, nothing new is lent."
    ).format(**holds(demand, now))
    numbers = {**figures(demand, now), "owners_waiting": waiting}
    return wait("owner-waits", message, numbers, ends=first_end(scene), at=scene.snapshot.at)


def _nothing_to_borrow(scene: Scene, demand: Demand, now: Standings) -> Queued:
    own = project_limit(scene, demand, now)
    if own is not None:
        return own
    limit = scene.policy.teams[demand.team].quota[demand.pool].borrowing_limit
    numbers = short(demand, now, now.available)
    at = scene.snapshot.at
    if limit is not None and now.used + demand.units > now.nominal + limit:
        message = _(
            "Team {team} may borrow at most {limit} beyond its {nominal} of pool {pool} and holds "
            "{used}; this takes {wants}."
        ).format(**holds(demand, now), limit=gpus(limit))
        numbers = {**numbers, "borrowing_limit_gpus": gpus_text(limit)}
        return wait(
            "borrowing-limit", message, numbers, ends=first_end(scene, of=demand.team), at=at
        )
    message = _(
        "Team {team} holds {used} of its guaranteed {nominal} in pool {pool}, so this would "
        "borrow {wants}; others leave {available} just now."
    ).format(**holds(demand, now), available=gpus(now.available))
    return wait("nothing-to-borrow", message, numbers, ends=first_end(scene), at=at)
