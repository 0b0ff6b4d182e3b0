"""What a site's own Kueue objects say in this product's nouns, and which queues cannot be used.

Pure: over objects that were read. It changes nothing; a person reads the policy that is made.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..errors import UnitError
from .objects import Body
from .quantity import whole
from .queuedemands import Breach, Weight, of_queue

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"
MIG = "nvidia.com/mig-"
PRODUCT = "nvidia.com/gpu.product"
COUNT = "nvidia.com/gpu.count"

_OURS_TO_MEND = frozenset({"uncovered", "no-reclaim"})
"""Breaches that go away when the policy is rendered: the queues that we make are other ones."""


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A machine: how many GPUs, and the MIG devices that it offers by profile."""

    name: str
    product: str
    gpus: int
    parts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundPool:
    """A flavor that queues give GPUs of, and the machines that its labels select."""

    flavor: str
    selector: Mapping[str, str]
    nodes: tuple[FoundNode, ...]


@dataclass(frozen=True, slots=True)
class FoundQuota:
    """Counts of one resource of one flavor; None is no limit."""

    flavor: str
    resource: str
    nominal: int
    borrowing_limit: int | None
    lending_limit: int | None


@dataclass(frozen=True, slots=True)
class FoundQueue:
    """A ClusterQueue: its quota of GPUs, namespaces that lead to it, what speaks against it."""

    name: str
    cohort: str
    quotas: tuple[FoundQuota, ...]
    namespaces: tuple[str, ...]
    breaches: tuple[Breach, ...]

    @property
    def usable(self) -> bool:
        """Whether the promises of this product hold for its leases as it is."""
        return not any(one.weight is Weight.wrong for one in self.breaches)


@dataclass(frozen=True, slots=True)
class Found:
    """All that was found, in the order of names."""

    pools: tuple[FoundPool, ...]
    queues: tuple[FoundQueue, ...]


def found(
    flavors: Iterable[Body],
    queues: Iterable[Body],
    local_queues: Iterable[Body],
    nodes: Iterable[Body],
) -> Found:
    """Read a site's flavors, queues and machines. Queues without GPUs are no concern of ours."""
    doors: dict[str, list[str]] = {}
    for one in local_queues:
        doors.setdefault(str(_spec(one).get("clusterQueue")), []).append(_namespace(one))
    known = [_queue(one, doors) for one in queues]
    with_gpus = tuple(sorted((one for one in known if one.quotas), key=lambda one: one.name))
    used = {quota.flavor for queue in with_gpus for quota in queue.quotas}
    machines = [node for one in nodes if (node := _node(one)) is not None]
    pools = tuple(_pool(one, machines) for one in sorted(flavors, key=_name) if _name(one) in used)
    return Found(pools, with_gpus)


def _queue(body: Body, doors: Mapping[str, list[str]]) -> FoundQueue:
    name, spec = _name(body), _spec(body)
    breaches = tuple(one for one in of_queue(body) if one.code not in _OURS_TO_MEND)
    return FoundQueue(
        name,
        str(spec.get("cohortName") or spec.get("cohort") or ""),
        tuple(_quotas(spec)),
        tuple(sorted(set(doors.get(name, [])))),
        breaches,
    )


def _quotas(spec: Body) -> Iterator[FoundQuota]:
    for group in spec.get("resourceGroups") or []:
        for flavor in group.get("flavors") or []:
            for one in flavor.get("resources") or []:
                resource = str(one.get("name", ""))
                if resource not in {GPU, SHARED} and not resource.startswith(MIG):
                    continue
                nominal = _count(one.get("nominalQuota"))
                yield FoundQuota(
                    str(flavor.get("name", "")),
                    resource,
                    nominal or 0,
                    _count(one.get("borrowingLimit")),
                    _count(one.get("lendingLimit")),
                )


def _pool(flavor: Body, machines: Iterable[tuple[FoundNode, Mapping[str, str]]]) -> FoundPool:
    selector = {str(k): str(v) for k, v in (_spec(flavor).get("nodeLabels") or {}).items()}
    nodes = tuple(
        node
        for node, labels in machines
        if all(labels.get(key) == value for key, value in selector.items())
    )
    return FoundPool(_name(flavor), selector, tuple(sorted(nodes, key=lambda one: one.name)))


def _node(body: Body) -> tuple[FoundNode, Mapping[str, str]] | None:
    """Read a machine that offers GPUs; None for the others."""
    labels = (body.get("metadata") or {}).get("labels") or {}
    there = Counter[str]()
    for resource, amount in ((body.get("status") or {}).get("allocatable") or {}).items():
        if resource == GPU or resource.startswith(MIG):
            there[resource] += _count(amount) or 0
    parts = {name.removeprefix(MIG): n for name, n in sorted(there.items()) if name != GPU and n}
    gpus = there[GPU] + (_count(labels.get(COUNT)) or 0 if parts else 0)
    if not gpus and not parts:
        return None
    return FoundNode(_name(body), str(labels.get(PRODUCT, "")), gpus, parts), labels


def _count(text: object) -> int | None:
    try:
        return None if text is None else whole(str(text))
    except UnitError:
        return None


def _name(body: Body) -> str:
    return str((body.get("metadata") or {}).get("name", ""))


def _namespace(body: Body) -> str:
    return str((body.get("metadata") or {}).get("namespace", ""))


def _spec(body: Body) -> Body:
    return body.get("spec") or {}
