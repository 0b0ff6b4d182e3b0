"""Quota arithmetic of Kueue's classical mode for one resource: tiny functions over one struct.

The engine keeps one such tree for each flavor and resource. Nothing here knows devices.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

ROOT = ""
"""Name of the pool's own node; no team can be called so."""


@dataclass(frozen=True, slots=True)
class Node:
    """One queue or cohort. Quota in units; None is "no limit".

    `nominal` of a cohort is a share on top of its members'; negative where capacity is missing.
    """

    nominal: int
    parent: str | None = None
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """What follows from the nodes alone, worked out once for a tree."""

    whole: Mapping[str, int]
    """Quota of a node and of what its members lend."""
    kept: Mapping[str, int]
    """The part of a node's quota that nobody else can use."""
    path: Mapping[str, tuple[str, ...]]
    """A node and all above it, the root last."""
    height: Mapping[str, int]
    """0 for what has no members, else one more than its highest member."""


UNKNOWN = Shape({}, {}, {}, {})
"""Not worked out yet."""


def shape_of(nodes: Mapping[str, Node]) -> Shape:
    """Work out the sums of a tree, from its leaves up.

    Raises
    ------
    ValueError
        If a node lies above itself.
    """
    path = {name: _path(nodes, name) for name in nodes}
    lent, height = dict.fromkeys(nodes, 0), dict.fromkeys(nodes, 0)
    whole: dict[str, int] = {}
    kept: dict[str, int] = {}
    for name in sorted(nodes, key=lambda name: -len(path[name])):
        node = nodes[name]
        whole[name] = node.nominal + lent[name]
        limit = node.lending_limit
        kept[name] = 0 if limit is None else max(0, whole[name] - limit)
        if node.parent is not None:
            lent[node.parent] += whole[name] - kept[name]
            height[node.parent] = max(height[node.parent], height[name] + 1)
    return Shape(whole, kept, path, height)


def _path(nodes: Mapping[str, Node], name: str) -> tuple[str, ...]:
    found, at = [name], nodes[name].parent
    while at is not None:
        if at in found:
            msg = f"{at} lies above itself"
            raise ValueError(msg)
        found.append(at)
        at = nodes[at].parent
    return tuple(found)


@dataclass(frozen=True)
class Quotas:
    """A tree of nodes and what is used of it.

    `usage` of a queue is what its leases hold; of a cohort, what its members charge to it.
    """

    nodes: Mapping[str, Node]
    usage: Mapping[str, int] = field(default_factory=dict)
    shape: Shape = field(default=UNKNOWN, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work the tree's sums out, unless they came along."""
        if self.shape is UNKNOWN:
            object.__setattr__(self, "shape", shape_of(self.nodes))

    def used(self, name: str) -> int:
        """Units charged to one node."""
        return self.usage.get(name, 0)


def subtree(quotas: Quotas, name: str) -> int:
    """Quota of a node and of what its members lend."""
    return quotas.shape.whole[name]


def local(quotas: Quotas, name: str) -> int:
    """The part of a node's quota that nobody else can use: what exceeds its lending limit."""
    return quotas.shape.kept[name]


def available(quotas: Quotas, name: str) -> int:
    """What a queue can still take, borrowing included; never below 0.

    From the root down: what a node has is its unused local part and what its parent has, the
    latter up to its borrowing limit.
    """
    nodes, usage, shape = quotas.nodes, quotas.usage, quotas.shape
    path = shape.path[name]
    room = shape.whole[path[-1]] - usage.get(path[-1], 0)
    for at in path[-2::-1]:
        own, used = shape.kept[at], usage.get(at, 0)
        limit = nodes[at].borrowing_limit
        if limit is not None:
            room = min(room, shape.whole[at] - own - max(0, used - own) + limit)
        room += max(0, own - used)
    return max(0, room)


def potential(quotas: Quotas, name: str) -> int:
    """The largest request that could ever be admitted: what is available with nothing used."""
    return available(replace(quotas, usage={}), name)


def charge(quotas: Quotas, name: str, units: int) -> Quotas:
    """Count units at a node; only what exceeds its local part goes on to its parent."""
    usage = dict(quotas.usage)
    count(quotas, usage, name, units)
    return replace(quotas, usage=usage)


def count(quotas: Quotas, usage: dict[str, int], name: str, units: int) -> None:
    """Add units to `usage` in place; a negative number takes back what was counted."""
    kept, rest = quotas.shape.kept, units
    for at in quotas.shape.path[name]:
        before = usage.get(at, 0)
        usage[at] = before + rest
        own = kept[at]
        rest = max(0, before + rest - own) - max(0, before - own)
        if rest == 0:
            return


def reach(quotas: Quotas, name: str, units: int) -> tuple[str, bool]:
    """Give the lowest node whose own quota covers a request, and whether any does.

    It is the queue itself while the request lies inside nominal. Where no node covers it, it is
    the root.
    """
    path, shape, rest = quotas.shape.path[name], quotas.shape, units
    if quotas.used(name) + units <= quotas.nodes[name].nominal:
        return name, True
    for below, at in pairwise(path):
        rest -= max(0, shape.kept[below] - quotas.used(below))
        if quotas.used(at) + rest <= shape.whole[at]:
            return at, True
    return path[-1], False


def level(quotas: Quotas, name: str, units: int) -> int:
    """How far up a request reaches: 0 inside nominal, else the height that first covers it."""
    return quotas.shape.height[reach(quotas, name, units)[0]]


def may_preempt(quotas: Quotas, name: str, units: int) -> bool:
    """Whether a preemption for a request is looked at at all, with no borrowing by preemption.

    It is where the request alone lies inside nominal, or a node that is not the whole tree covers
    it: a queue with nominal 0 at the root has no such right.
    """
    at, covers = reach(quotas, name, units)
    below_root = covers and quotas.nodes[at].parent is not None
    return units <= quotas.nodes[name].nominal or below_root


def held_back(quotas: Quotas, name: str, units: int) -> int:
    """What a head that finds no victims keeps from those behind it for the rest of a cycle.

    Inside nominal what is free of that, else what it could borrow; nothing where no preemption
    is looked at.
    """
    if not may_preempt(quotas, name, units):
        return 0
    return kept_back(quotas, name, units, borrowing=level(quotas, name, units) > 0)


def kept_back(quotas: Quotas, name: str, units: int, *, borrowing: bool) -> int:
    """What a request keeps back, given whether it borrows."""
    node = quotas.nodes[name]
    free = node.nominal - quotas.used(name)
    if not borrowing:
        return max(0, min(units, free))
    return units if node.borrowing_limit is None else min(units, free + node.borrowing_limit)


def pool_quotas(
    teams: Mapping[str, Node], holdings: Iterable[tuple[str, int]], capacity: int
) -> Quotas:
    """Build the tree of one pool and count what its leases hold.

    Capacity that is guaranteed to nobody is the cohort's own share; missing capacity shortens what
    can be lent first. A team that lost its quota keeps its leases: it is a node with nothing, so
    that what it holds still counts.

    Parameters
    ----------
    teams
        Queues and cohorts of the pool; what has no parent lies at the root.
    holdings
        Queue and units of each lease that holds capacity.
    capacity
        Units in service.
    """
    held: dict[str, int] = {}
    for team, units in holdings:
        held[team] = held.get(team, 0) + units
    nodes = {team: replace(node, parent=node.parent or ROOT) for team, node in teams.items()}
    for team in held:
        nodes.setdefault(team, Node(0, ROOT, borrowing_limit=0))
    shape = shape_of({ROOT: Node(0), **nodes})
    share = max(-shape.whole[ROOT], capacity - sum(node.nominal for node in nodes.values()))
    whole = {**shape.whole, ROOT: shape.whole[ROOT] + share}
    quotas = Quotas({ROOT: Node(share), **nodes}, {}, replace(shape, whole=whole))
    usage: dict[str, int] = {}
    for team, units in held.items():
        count(quotas, usage, team, units)
    return replace(quotas, usage=usage)
