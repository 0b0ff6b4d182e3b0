"""Who waits inside a guarantee: while an owner waits, nothing of what it is owed is lent anew."""

from typing import NamedTuple

from .budgets import money
from .gates import Kind, access, caps, kinds
from .placing import in_service
from .quota import ROOT, reach
from .snapshot import Demand, Scene
from .starving import age, calls, is_overdue


class Owner(NamedTuple):
    """A waiting request and the node whose quota covers it: its queue's or its team's."""

    demand: Demand
    node: str


def owners(scene: Scene) -> tuple[Owner, ...]:
    """Give the waiting requests of a pool that lie inside a guarantee.

    One that a cap or a budget holds, or that no device in service serves, is none: else it would
    block all lending for as long as its owner likes. Neither is one that lets a colleague go first
    who has waited too long and would borrow: each would wait for the other for ever.
    """
    known = scene.__dict__
    if "owners" not in known:
        # Whoever is first in line waits until it has started, so the count is of before its turn.
        known["owners"] = _look(scene.before)
    found: tuple[Owner, ...] = known["owners"]
    return found


def _look(scene: Scene) -> tuple[Owner, ...]:
    kind_of = kinds(scene)
    found: list[Owner] = []
    goes_first: set[str] = set()
    reached: dict[tuple[Kind, int], str | None] = {}
    for one in sorted(scene.waiting, key=age):
        what = (kind_of(one), one.units)
        if what not in reached:
            reached[what] = _reached(scene, one)
        node = reached[what]
        if node is None:
            continue
        if node != ROOT:
            if calls(one) or one.team not in goes_first:
                found.append(Owner(one, node))
        elif is_overdue(scene, one):
            goes_first.add(one.team)
    return tuple(found)


def _reached(scene: Scene, one: Demand) -> str | None:
    """Give the node whose quota covers requests of a kind, or the root; None: a gate is closed."""
    queue = scene.queue(one)
    if queue not in scene.quotas.nodes:
        return None
    node, covers = reach(scene.quotas, queue, one.units)
    return None if _gated(scene, one) else node if covers else ROOT


def _gated(scene: Scene, one: Demand) -> bool:
    if access(scene, one) or in_service(scene, one) or caps(scene, one):
        return True
    return scene.policy.modes.budget == "enforce" and money(scene, one) is not None


def owed(scene: Scene, demand: Demand) -> int:
    """Count the owners whose guarantee lies below what a request reaches up to.

    It would take from what one of them waits for: of another team where it borrows in the pool,
    of another project where it goes beyond its share inside the team.
    """
    shape = scene.quotas.shape
    node, _covers = reach(scene.quotas, scene.queue(demand), demand.units)
    return sum(
        1
        for one in owners(scene)
        if one.demand.tie != demand.tie and one.node != node and node in shape.path[one.node]
    )
