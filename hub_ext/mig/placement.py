"""Which free device a request takes, how many such requests fit, and what is really there.

Works on declared slots and found devices; knows nothing of quota, people or time.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..i18n import _
from ..lease import Device, DeviceId, Inventory
from .choosing import Score, Slate, score
from .geometry import SHARE, Placement, geometry, share_id
from .joining import closest
from .layouts import Mix, ordered, uniform


def pick(
    devices: Sequence[Device],
    held: frozenset[DeviceId],
    *,
    gpus: int,
    mig_profile: str | None,
    mix: Mix | None = None,
) -> tuple[Device, ...] | None:
    """Choose devices for one request out of one pool; None where nothing fits now.

    Whole GPUs come from one node: the one where they are joined most closely, then the one with the
    fewest free ones that still suffices, so that large requests keep finding a machine; then by
    the node's name. Which of a node, `joining.closest` says. A MIG
    device is an instance that exists; which one, `choosing.score` says, so that the GPUs keep most
    room for being cut anew. Time-shares fill the GPU that has fewest free ones.

    Parameters
    ----------
    devices
        Usable devices of the pool.
    held
        Devices that a lease already has.
    gpus
        Whole GPUs wanted; 0 for a MIG device, or for none at all.
    mig_profile
        MIG profile or time-share wanted (`1g.18gb`, `share-4`); None for whole GPUs.
    mix
        What is asked for in this pool; None for every profile of the model alike.
    """
    if mig_profile is not None:
        return _pick_instance(devices, held, mig_profile, mix)
    if gpus == 0:
        return ()
    by_node = _whole_by_node(one for one in devices if one.id not in held)
    fitting = [
        (*closest(there, gpus), len(there), node)
        for node, there in by_node.items()
        if len(there) >= gpus
    ]
    if not fitting:
        return None
    return min(fitting, key=lambda one: (one[0], one[2], one[3]))[1]


def _pick_instance(
    devices: Sequence[Device], held: frozenset[DeviceId], profile: str, mix: Mix | None
) -> tuple[Device, ...] | None:
    fitting: dict[tuple[str, int], list[Device]] = defaultdict(list)
    for one in _serving(devices, profile):
        if one.id not in held:
            fitting[one.node, one.gpu].append(one)
    taken: dict[tuple[str, int], list[Device]] = {spot: [] for spot in fitting}
    for one in devices:
        if one.mig_profile and one.id in held and (one.node, one.gpu) in taken:
            taken[one.node, one.gpu].append(one)
    if not fitting:
        return None
    if profile.startswith(SHARE):
        spot = min(fitting, key=lambda spot: (len(fitting[spot]), spot))
        return (min(fitting[spot], key=lambda one: one.id),)
    wanted = mix or uniform(next(iter(fitting.values()))[0].model)

    def best(spot: tuple[str, int]) -> tuple[Score, DeviceId, Device]:
        slate = Slate(*spot, fitting[spot][0].model, ordered(map(_placed, taken[spot])))
        ranked = ((score(slate, _placed(one), wanted), one.id, one) for one in fitting[spot])
        return min(ranked, key=lambda each: each[:2])

    _score, _id, device = min(map(best, fitting), key=lambda each: each[:2])
    return (device,)


def _serving(devices: Iterable[Device], part: str) -> list[Device]:
    # Field by field: asking each of a thousand devices for its part takes as long as the choice.
    if part.startswith(SHARE):
        return [one for one in devices if one.shared_by is not None and one.part == part]
    return [one for one in devices if one.mig_profile == part]


def _placed(device: Device) -> Placement:
    # An agent may not know where an instance lies: it then takes nothing that is known.
    return Placement(device.mig_profile or "", device.start or 0, device.size or 0)


def _whole_by_node(free: Iterable[Device]) -> dict[str, list[Device]]:
    by_node: dict[str, list[Device]] = defaultdict(list)
    for one in free:
        if one.mig_profile is None and one.shared_by is None:
            by_node[one.node].append(one)
    return by_node


def count_free(
    devices: Sequence[Device],
    held: frozenset[DeviceId],
    *,
    gpus: int,
    mig_profile: str | None,
) -> int:
    """Count how many requests like this one would all find their devices now.

    A request for no GPU at all takes nothing, so it has no count: 0.
    """
    free = [one for one in devices if one.id not in held]
    if mig_profile is not None:
        return len(_serving(free, mig_profile))
    if gpus == 0:
        return 0
    return sum(len(there) // gpus for there in _whole_by_node(free).values())


class _Gpu(NamedTuple):
    """All devices of one GPU, declared or found; one device where it is whole."""

    pool: str
    node: str
    gpu: int
    model: str
    devices: tuple[Device, ...]

    @property
    def cut(self) -> Counter[str | None]:
        return Counter(one.part for one in self.devices)

    @property
    def virtual(self) -> bool | None:
        return self.devices[0].virtual

    def as_for(self, wanted: "_Gpu") -> "_Gpu":
        """Take a whole GPU that was found as the time-shares of it that are declared."""
        shared_by = wanted.devices[0].shared_by
        if shared_by is None or self.cut != {None: 1}:
            return self
        (gpu,) = self.devices
        shares = (
            gpu.model_copy(update={"id": share_id(gpu.id, number), "shared_by": shared_by})
            for number in range(shared_by)
        )
        return self._replace(devices=tuple(shares))


def usable(
    declared: Sequence[Device], found: Sequence[Inventory]
) -> tuple[tuple[Device, ...], tuple[str, ...]]:
    """Match declared slots with the devices that agents found.

    A slot is usable when its node has a GPU of its model with a device of its MIG profile. GPUs
    with the declared index and cut are matched first, then those with the declared cut, then
    whatever serves most slots; positions on a GPU are the driver's.

    Parameters
    ----------
    declared
        Slots of *all* pools at once: matched pool by pool, two pools of one model on one node
        would be given the same GPU.
    found
        The newest inventory of each node.

    Returns
    -------
    The usable devices, with the ids found and the pools declared, in declared order; and one
    sentence for each difference. A slot with nothing found is not usable, nor one of a real GPU
    where a virtual one was found: its lease would promise more than there is.
    """
    wanted = _gpus(declared)
    there = _gpus(device for inventory in found for device in inventory.devices)
    problems = {inventory.node: inventory.problem for inventory in found}
    matches = _matches(wanted, there)
    devices: list[Device] = []
    drift: list[str] = []
    for gpu, match in zip(wanted, matches, strict=True):
        if match is None:
            drift.append(_absent(gpu, problems))
            continue
        drift.extend(_virtual(gpu, match))
        if match.virtual and not gpu.virtual:
            continue
        shown = match.as_for(gpu)
        paired = _paired(gpu, shown)
        devices.extend(paired)
        drift.extend(_differences(gpu, shown, len(paired)))
    drift.extend(
        _("{node} has a GPU {index} ({model}) that the policy does not declare").format(
            node=one.node, index=one.gpu, model=one.model
        )
        for one in there
        if one not in matches
    )
    return tuple(devices), tuple(drift)


def _matches(wanted: Sequence[_Gpu], there: Sequence[_Gpu]) -> list[_Gpu | None]:
    """Give each declared GPU a found one; best fits over all GPUs first, so none is stolen."""
    left = list(there)
    matches: list[_Gpu | None] = [None] * len(wanted)
    for fits in (_same_slot, _same_cut, _same_kind):
        for place, gpu in enumerate(wanted):
            fitting = [one for one in left if fits(gpu, one)]
            if matches[place] is None and fitting:
                best = min(fitting, key=lambda one: _distance(gpu, one))
                left.remove(best)
                matches[place] = best
    return matches


def _same_kind(wanted: _Gpu, one: _Gpu) -> bool:
    return wanted.node == one.node and same_model(wanted.model, one.model)


def _same_cut(wanted: _Gpu, one: _Gpu) -> bool:
    return _same_kind(wanted, one) and wanted.cut == one.as_for(wanted).cut


def _same_slot(wanted: _Gpu, one: _Gpu) -> bool:
    return _same_cut(wanted, one) and wanted.gpu == one.gpu


def _distance(wanted: _Gpu, one: _Gpu) -> tuple[int, bool, int, str]:
    served = (wanted.cut & one.as_for(wanted).cut).total()
    return (-served, wanted.pool != one.pool, one.gpu, one.devices[0].id)


def _gpus(devices: Iterable[Device]) -> list[_Gpu]:
    """Group devices into GPUs, keeping order.

    A device that is reported twice counts once, also under another index or by another node: one
    request would otherwise be given it twice.
    """
    groups: dict[tuple[str, str, int], list[Device]] = {}
    seen: set[DeviceId] = set()
    for one in devices:
        if one.id not in seen:
            groups.setdefault((one.pool, one.node, one.gpu), []).append(one)
        seen.add(one.id)
    return [
        _Gpu(pool, node, gpu, group[0].model, tuple(group))
        for (pool, node, gpu), group in groups.items()
    ]


def same_model(declared: str, found: str) -> bool:
    """Whether a driver's product name means the model that a policy names.

    The table's products decide; a model without MIG data matches the product's own words, so
    `l40s` is `NVIDIA L40S`.
    """
    if declared == found:
        return True
    shape = geometry(declared)
    if shape is not None and found in shape.products:
        return True
    return declared == _slug(found)


def _slug(product: str) -> str:
    words = product.lower().removeprefix("nvidia ")
    return "-".join("".join(c if c.isalnum() else " " for c in words).split())


def _paired(wanted: _Gpu, match: _Gpu) -> list[Device]:
    """Give each declared slot a found device of its profile, both by rising start."""
    left: dict[str | None, list[Device]] = defaultdict(list)
    for one in sorted(match.devices, key=lambda one: (one.start or 0, one.id)):
        left[one.part].append(one)
    pairs = [(slot, left[slot.part].pop(0)) for slot in wanted.devices if left[slot.part]]
    return [
        real.model_copy(
            update={
                "pool": slot.pool,
                "model": slot.model,
                "start": slot.start if real.start is None else real.start,
                "size": slot.size if real.size is None else real.size,
            }
        )
        for slot, real in pairs
    ]


def _virtual(wanted: _Gpu, match: _Gpu) -> list[str]:
    """Say where a virtual GPU is declared as a real one, or the other way round."""
    if match.virtual is None or match.virtual == bool(wanted.virtual):
        return []
    words = (
        _(
            "{node} GPU {index} is a virtual one, and pool {pool} promises real ones, so nobody "
            "gets it; move it to a pool with `vgpu`"
        )
        if match.virtual
        else _("{node} GPU {index} is a real one, and pool {pool} has virtual ones")
    )
    return [words.format(node=match.node, index=match.gpu, pool=wanted.pool)]


def _differences(wanted: _Gpu, match: _Gpu, paired: int) -> list[str]:
    """Say how a found GPU is cut otherwise than declared; nothing where it is not."""
    if wanted.cut == match.cut:
        return []
    return [
        _(
            "{node} GPU {index}: the policy declares {declared}, found is {found}; "
            "{usable} of {total} declared devices are usable"
        ).format(
            node=wanted.node,
            index=match.gpu,
            declared=_words(wanted.cut),
            found=_words(match.cut),
            usable=paired,
            total=len(wanted.devices),
        )
    ]


def _words(cut: Counter[str | None]) -> str:
    return ", ".join(
        f"{count} x {name or _('whole')}"
        for name, count in sorted(cut.items(), key=lambda item: item[0] or "")
    )


def _absent(wanted: _Gpu, problems: Mapping[str, str]) -> str:
    if wanted.node not in problems:
        return _("{node} GPU {index} ({model}): no agent has reported this machine").format(
            node=wanted.node, index=wanted.gpu, model=wanted.model
        )
    return _("{node} GPU {index} ({model}) was not found{why}").format(
        node=wanted.node,
        index=wanted.gpu,
        model=wanted.model,
        why=f": {problems[wanted.node]}" if problems[wanted.node] else "",
    )
