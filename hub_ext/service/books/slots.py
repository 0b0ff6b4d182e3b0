"""Devices on Kubernetes: places of the declared kind on the declared machines, never a GPU by name.

Which GPU a server gets there is chosen by the device plugin of its machine. A place only says that
there is one more of a kind; agents and machines say how many of them there really are.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from ...i18n import _
from ...kube.nodes import NodeOffer
from ...kube.render.resources import name_of
from ...lease import SHARE_MARK, Device, DeviceId, Inventory
from ...mig.placement import usable
from ...policy.capacity import WHOLE
from ...policy.model import Policy
from .config import Settings
from .floor import Floor, declared

SLOT = "slot-"
"""Begins the id of a place: the device plugin chooses the GPU, so nobody here knows its id."""

_Found = tuple[tuple[Device, ...], tuple[str, ...]]
_Kind = tuple[str, str]
"""Machine and name under which it offers a device."""


class _Counted(NamedTuple):
    """All declared places, how many of a kind there really are, and what is missing."""

    places: tuple[tuple[_Kind, Device], ...]
    left: Mapping[_Kind, int]
    short: frozenset[_Kind]
    words: tuple[str, ...]


class SlotFloor(Floor):
    """What the policy declares, no more of it on a machine than its agent and its kubelet find.

    A machine of which nobody has said anything has what is declared: there the cluster's own
    scheduler knows what is free, and a server that finds no device says so.
    """

    _offers: Mapping[str, NodeOffer] | None = None
    _held: frozenset[DeviceId] = frozenset()
    _known: tuple[Policy, tuple[Inventory, ...], object, _Counted] | None = None
    _chosen: tuple[_Counted, frozenset[DeviceId], _Found] | None = None

    def take_held(self, held: Iterable[DeviceId]) -> None:
        """Keep which places leases hold: what is missing on a machine is not theirs."""
        self._held = frozenset(held)

    def take_offers(self, offers: Iterable[NodeOffer]) -> None:
        """Keep what the machines of the cluster offer."""
        self._offers = {one.name: one for one in offers}

    def devices(self, policy: Policy, *, now: datetime) -> _Found:
        """Places that may be handed out, and a sentence for each that was not found."""
        found = self.inventories(now=now)
        known = self._known
        if known is None or (known[0], known[1], known[2]) != (policy, found, self._offers):
            made = _counted(policy, found, self._offers)
            known = self._known = (policy, found, self._offers, made)
        last = self._chosen
        if last is None or last[0] is not known[3] or (known[3].short and last[1] != self._held):
            answer = _choose(known[3], self._held)
            last = self._chosen = (known[3], self._held, answer)
        return last[2]


def bounded(
    policy: Policy,
    found: Iterable[Inventory],
    offers: Mapping[str, NodeOffer] | None,
    held: Collection[DeviceId] = (),
) -> _Found:
    """Give each declared place that is not proved to be missing.

    Parameters
    ----------
    found
        What agents have told.
    offers
        The cluster's machines; None while they have not been read.
    held
        Places that leases hold: where some of a kind are missing, free ones are.
    """
    return _choose(_counted(policy, found, offers), held)


def _counted(
    policy: Policy, found: Iterable[Inventory], offers: Mapping[str, NodeOffer] | None
) -> _Counted:
    every = declared(policy)
    there = tuple(found)
    nodes = {inventory.node for inventory in there}
    real, drift = usable(tuple(one for one in every if one.node in nodes), there)
    told = Counter(_kind(policy, one) for one in real)
    wanted = Counter(_kind(policy, one) for one in every)
    left = {
        kind: min(
            told[kind] if kind[0] in nodes else count,
            count if offers is None else _offered(offers, kind),
        )
        for kind, count in wanted.items()
    }
    return _Counted(
        places=tuple((_kind(policy, one), place_of(one)) for one in every),
        left=left,
        short=frozenset(kind for kind, count in wanted.items() if left[kind] < count),
        words=(*drift, *_differences(wanted, offers), *_disagreements(wanted, told, nodes, offers)),
    )


def _choose(counted: _Counted, held: Collection[DeviceId]) -> _Found:
    """Leave away free places first: a server that runs has its GPU, whatever its place is called.

    Of more that are held than there are, some have no GPU; none of that kind is free then.
    """
    left = dict(counted.left)
    kept: set[DeviceId] = set()
    for kind, one in sorted(counted.places, key=lambda found: found[1].id not in held):
        if left[kind] > 0:
            left[kind] -= 1
            kept.add(one.id)
    return tuple(one for _one_kind, one in counted.places if one.id in kept), counted.words


def place_of(device: Device) -> Device:
    """Make the place of a declared device."""
    gpu, mark, number = device.id.partition(SHARE_MARK)
    name = f"{SLOT}{uuid5(NAMESPACE_URL, gpu)}{mark}{number}"
    return device.model_copy(update={"id": DeviceId(name), "simulated": False})


def floor_for(settings: Settings) -> Floor:
    """Give the floor of one machine's devices, or of places on Kubernetes."""
    silence = timedelta(seconds=settings.agent_silence_s)
    return SlotFloor(silence) if settings.on_kubernetes else Floor(silence)


def _kind(policy: Policy, device: Device) -> _Kind:
    return (device.node, name_of(device.part or WHOLE, policy.pools[device.pool]))


def _offered(offers: Mapping[str, NodeOffer], kind: _Kind) -> int:
    node = offers.get(kind[0])
    return 0 if node is None or not node.ready else node.devices.get(kind[1], 0)


def _differences(
    wanted: Mapping[_Kind, int], offers: Mapping[str, NodeOffer] | None
) -> Iterable[str]:
    """Say where a machine of the cluster offers less than is declared."""
    if offers is None:
        return
    for name in dict.fromkeys(node for node, _resource in wanted):
        if name not in offers:
            yield _("{node} is declared, and the cluster has no machine of that name").format(
                node=name
            )
        elif not offers[name].ready:
            yield _("{node} takes no servers just now: it is not ready, or closed to them").format(
                node=name
            )
    for (name, resource), count in wanted.items():
        node = offers.get(name)
        if node is not None and node.ready and node.devices.get(resource, 0) < count:
            yield _("{node} offers {n} of {resource}, and the policy declares {declared}").format(
                node=name, n=node.devices.get(resource, 0), resource=resource, declared=count
            )


def _disagreements(
    wanted: Mapping[_Kind, int],
    told: Mapping[_Kind, int],
    nodes: Collection[str],
    offers: Mapping[str, NodeOffer] | None,
) -> Iterable[str]:
    """Say where a machine's agent and its kubelet, which both have spoken, count otherwise.

    Parameters
    ----------
    told
        How many of what is declared each machine's agent finds.
    nodes
        Machines whose agents have told.
    """
    for kind, declared_n in wanted.items():
        name, resource = kind
        node = None if offers is None or name not in nodes else offers.get(name)
        if node is None or not node.ready:
            continue
        found, offered = told.get(kind, 0), node.devices.get(resource, 0)
        # What is there beyond what is declared is nobody's here, and no difference.
        if min(offered, declared_n) != found:
            yield _(
                "{node}: its agent finds {found} of {resource}, and its kubelet offers {offered}; "
                "the smaller counts. Restart the device plugin there; if this stays, read its log"
            ).format(node=name, found=found, resource=resource, offered=offered)
