"""What a GPU model can be cut into, in which units, and the devices that a policy so declares.

The table of NVIDIA's profiles lies beside this file; it is read once and never changed. Whether
a declared device exists or is free is not known here; `placement` compares.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, Protocol
from uuid import NAMESPACE_URL, uuid5

from ..errors import UnitError
from ..lease import SHARE_MARK, Device, DeviceId, PoolName, Value, share_name
from ..units import UNITS_PER_GPU, Units


class MigProfile(Value):
    """One way to cut an instance out of a GPU.

    `size` and `starts` are on the model's placement axis, the unit the driver itself uses.
    `attributes` are NVIDIA's media words: `me`, `me.all`, `-me`, `gfx`.
    """

    name: str
    compute_slices: int
    memory_slices: int
    size: int
    starts: tuple[int, ...]
    max_instances: int
    attributes: tuple[str, ...] = ()


class Geometry(Value):
    """All profiles of one GPU model, by name, and the slices that they share."""

    id: str
    title: str
    axis: int
    compute_slices: int
    memory_slices: int
    max_instances: int
    products: tuple[str, ...]
    """Names under which the driver reports GPUs of this model."""
    profiles: dict[str, MigProfile]


class Placement(NamedTuple):
    """One instance on one GPU, in units of the placement axis."""

    profile: str
    start: int
    size: int


def _profile(row: Mapping[str, object], placement: Mapping[str, object]) -> MigProfile:
    return MigProfile.model_validate(
        {
            "name": row["name"],
            "compute_slices": row["compute_slices"],
            "memory_slices": row["memory_slices"],
            "size": placement["size"],
            "starts": placement["starts"],
            "max_instances": row["max_instances"],
            "attributes": row["attributes"],
        }
    )


@cache
def table() -> Mapping[str, Geometry]:
    """Every GPU model that can be cut, by the name that a policy gives it."""
    document = json.loads(files(__package__).joinpath("mig-geometry.json").read_text("utf-8"))
    return {
        row["id"]: Geometry(
            id=row["id"],
            title=row["model"],
            axis=row["placement_axis_units"],
            compute_slices=row["compute_slices_total"],
            memory_slices=row["memory_slices_total"],
            max_instances=row["max_gpu_instances"],
            products=tuple(row["products"]),
            profiles={one["name"]: _profile(one, one["placement"]) for one in row["profiles"]},
        )
        for row in document["gpus"]
    }


def geometry(model: str) -> Geometry | None:
    """Look up a model; None where it has no MIG data and so cannot be cut."""
    return table().get(model)


def starts_left(shape: Geometry, taken: Sequence[Placement], profile: str) -> tuple[int, ...]:
    """Starts at which one more instance may be made on a GPU that holds `taken`.

    An instance never moves, so a free total that is large enough promises nothing.
    """
    wanted = shape.profiles.get(profile)
    if wanted is None or len(taken) >= shape.max_instances:
        return ()
    if Counter(one.profile for one in taken)[profile] >= wanted.max_instances:
        return ()
    if not _media_agree([shape.profiles[one.profile] for one in taken] + [wanted]):
        return ()
    return tuple(
        start
        for start in wanted.starts
        if all(start + wanted.size <= one.start or one.start + one.size <= start for one in taken)
    )


def _media_agree(instances: Sequence[MigProfile]) -> bool:
    """Whether the media engines are claimed once: one `me`, or one `me.all` among `-me` only."""
    owners = sum("me" in one.attributes for one in instances)
    if not any("me.all" in one.attributes for one in instances):
        return owners <= 1
    return sum("-me" not in one.attributes for one in instances) == 1


@cache
def place(model: str, profiles: tuple[str, ...]) -> tuple[Placement, ...] | None:
    """Find a legal layout of these instances on one empty GPU, sorted by start.

    The same profiles in any order give the same layout: the largest first, at the lowest start
    that leaves room for the rest. None where no layout exists, whatever the order.
    """
    shape = geometry(model)
    if shape is None or len(profiles) > shape.max_instances:
        return None
    if any(name not in shape.profiles for name in profiles):
        return None
    ordered = sorted(profiles, key=lambda name: (-shape.profiles[name].size, name))
    found = _search(shape, ordered, ())
    return None if found is None else tuple(sorted(found, key=lambda one: one.start))


def _search(
    shape: Geometry, rest: Sequence[str], taken: tuple[Placement, ...]
) -> tuple[Placement, ...] | None:
    if not rest:
        return taken
    name = rest[0]
    # Equal instances are tried in rising order only; their permutations are one layout.
    floor = taken[-1].start if taken and taken[-1].profile == name else -1
    for start in starts_left(shape, taken, name):
        if start > floor:
            placed = Placement(name, start, shape.profiles[name].size)
            found = _search(shape, rest[1:], (*taken, placed))
            if found is not None:
                return found
    return None


@cache
def profile_units(model: str, profile: str) -> Units:
    """Units of one MIG device: its share of the GPU's memory slices.

    Raises
    ------
    UnitError
        When the model cannot be cut, or has no such profile.
    """
    shape = geometry(model)
    if shape is None:
        raise UnitError(f"{model!r} has no MIG data, so it has no MIG profile {profile!r}")
    if profile not in shape.profiles:
        raise UnitError(
            f"{model!r} has no MIG profile {profile!r}; it has {', '.join(shape.profiles)}"
        )
    return Units(UNITS_PER_GPU * shape.profiles[profile].memory_slices // shape.memory_slices)


class SharedLike(Protocol):
    """A GPU that several leases have in turns, as the policy has it."""

    @property
    def share(self) -> int:
        """How many."""


Cut = Literal["whole"] | tuple[str, ...] | SharedLike
"""What becomes of one GPU: it stays whole, is cut into these MIG profiles, or is had in turns."""


class NodeLike(Protocol):
    """A machine as the policy has it; a protocol, because the policy stands above this package."""

    @property
    def name(self) -> str:
        """Host name."""

    @property
    def gpus(self) -> int:
        """How many GPUs it has."""

    @property
    def geometry(self) -> Sequence[Cut]:
        """A cut for each GPU; empty means all whole."""


class PoolLike(Protocol):
    """A pool as the policy has it."""

    @property
    def model(self) -> str:
        """Model of every GPU."""

    @property
    def nodes(self) -> Sequence[NodeLike]:
        """Its machines."""

    @property
    def vgpu(self) -> str | None:
        """Profile of its virtual GPUs; None where they are real."""


def cuts(node: NodeLike) -> tuple[Cut, ...]:
    """One cut for each GPU of a node; GPUs that the policy does not mention are whole."""
    named: tuple[Cut, ...] = tuple(node.geometry)[: node.gpus]
    whole: Cut = "whole"
    return named + (whole,) * (node.gpus - len(named))


def declared_devices(pool_name: str, pool: PoolLike) -> tuple[Device, ...]:
    """List every device that the policy declares for a pool, by node, GPU and start.

    The ids are made from pool, node, GPU and start alone, so they are the same on every run.

    Raises
    ------
    UnitError
        When a GPU is cut into something its model cannot have.
    """
    devices = (
        device
        for node in pool.nodes
        for gpu, cut in enumerate(cuts(node))
        for device in _of_gpu(PoolName(pool_name), pool.model, node.name, gpu, cut)
    )
    if pool.vgpu is None:
        return tuple(devices)
    return tuple(one.model_copy(update={"virtual": True}) for one in devices)


def _of_gpu(pool: PoolName, model: str, node: str, gpu: int, cut: Cut) -> Iterator[Device]:
    if not isinstance(cut, str | tuple):
        for number in range(cut.share):
            yield Device(
                id=share_id(_made_up("GPU", pool, gpu, None, node), number),
                pool=pool,
                node=node,
                gpu=gpu,
                model=model,
                shared_by=cut.share,
                simulated=True,
            )
        return
    if cut == "whole":
        yield Device(
            id=_made_up("GPU", pool, gpu, None, node),
            pool=pool,
            node=node,
            gpu=gpu,
            model=model,
            simulated=True,
        )
        return
    layout = place(model, tuple(cut))
    if layout is None:
        raise UnitError(f"a GPU of model {model!r} cannot be cut into {', '.join(cut)}")
    for one in layout:
        yield Device(
            id=_made_up("MIG", pool, gpu, one.start, node),
            pool=pool,
            node=node,
            gpu=gpu,
            model=model,
            mig_profile=one.profile,
            start=one.start,
            size=one.size,
            simulated=True,
        )


def _made_up(kind: str, pool: str, gpu: int, start: int | None, node: str) -> DeviceId:
    # The node's name comes last: it alone may hold any character, so no two slots share a text.
    slot = f"gpu-commons:{kind}/{pool}/{gpu}/{start}/{node}"
    return DeviceId(f"SIM-{kind}-{uuid5(NAMESPACE_URL, slot)}")


def share_id(gpu: DeviceId, number: int) -> DeviceId:
    """Id of one time-share of a GPU."""
    return DeviceId(f"{gpu}{SHARE_MARK}{number}")


def share_units(shared_by: int) -> Units:
    """Units of one of so many time-shares."""
    return Units(UNITS_PER_GPU // shared_by)


def parts_of(cut: Cut) -> tuple[str, ...]:
    """Parts into which a GPU is divided, by name; nothing for a whole one."""
    if isinstance(cut, tuple):
        return cut
    return () if isinstance(cut, str) else (share_name(cut.share),) * cut.share


def part_units(model: str, part: str) -> Units:
    """Units of one part of a GPU by its name: a MIG profile or a time-share."""
    if part.startswith(SHARE):
        return share_units(int(part.removeprefix(SHARE)))
    return profile_units(model, part)


SHARE = "share-"
"""Begins the name of a time-share's flavor."""


def device_units(device: Device) -> Units:
    """Units of one device: a whole GPU, or its part of it."""
    if device.shared_by is not None:
        return share_units(device.shared_by)
    if device.mig_profile is None:
        return Units(UNITS_PER_GPU)
    return profile_units(device.model, device.mig_profile)
