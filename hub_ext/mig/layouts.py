"""GPU instances as intervals on the memory axis: what still fits beside them, and at what loss.

One GPU is here no more than its model and the instances on it. Which GPU is taken, and whether
an instance may be made at all, is decided elsewhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from .geometry import MigProfile, Placement, geometry, starts_left

Taken = tuple[Placement, ...]
"""Instances on one GPU, sorted by start."""

Mix = tuple[tuple[str, int], ...]
"""How often each flavor is asked for: MIG profiles, and `WHOLE` for whole GPUs; sorted by name."""

WHOLE = "gpu"
"""Flavor of a request that needs a GPU without any instance."""

GRAIN = 32
"""A mix is kept to about so many parts: a single request more does not change a placement."""

REMEMBERED = 65_536
"""GPU states whose answers are kept: a model has 723 plain layouts, at most 26 of four slices."""


def ordered(instances: Iterable[Placement]) -> Taken:
    """Give the one tuple that stands for these instances."""
    return tuple(sorted(instances, key=lambda one: one.start))


def mix_of(asked: Mapping[str, int], offered: Iterable[str] = ()) -> Mix:
    """Make a mix of what was asked for; what is only offered counts as asked for once.

    Parameters
    ----------
    asked
        Number of requests for each flavor.
    offered
        Flavors that the site offers: with nothing asked for yet, they are a uniform mix.
    """
    counts = dict.fromkeys(offered, 1)
    for flavor, count in asked.items():
        counts[flavor] = counts.get(flavor, 0) + count
    total = sum(counts.values())
    if total > GRAIN:
        counts = {flavor: -(-count * GRAIN // total) for flavor, count in counts.items()}
    return tuple(sorted((flavor, count) for flavor, count in counts.items() if count > 0))


def uniform(model: str) -> Mix:
    """Give every plain profile of a model the same weight."""
    return mix_of({}, (one.name for one in plain(model)))


def plain(model: str) -> tuple[MigProfile, ...]:
    """Profiles of a model without special claims on the media engines, the smallest first."""
    shape = geometry(model)
    if shape is None:
        return ()
    profiles = (one for one in shape.profiles.values() if not one.attributes)
    return tuple(sorted(profiles, key=lambda one: (one.size, one.compute_slices)))


@lru_cache(REMEMBERED)
def room(model: str, taken: Taken) -> Mapping[str, tuple[int, ...]]:
    """Starts at which each profile may still be made beside the instances there."""
    shape = geometry(model)
    if shape is None:
        return {}
    return {name: starts_left(shape, taken, name) for name in shape.profiles}


@lru_cache(REMEMBERED)
def loss(model: str, taken: Taken, one: Placement, mix: Mix) -> int:
    """Placements that an instance takes from the requests to come, by their mix and their memory.

    Each start that a profile loses counts its size on the placement axis: counted alike, many lost
    starts of small profiles outweigh a large one's only start, and GPUs are opened too early.
    """
    shape = geometry(model)
    if shape is None:
        return 0
    before, after = room(model, taken), room(model, ordered((*taken, one)))
    lost = 0
    for flavor, weight in mix:
        if flavor in shape.profiles:
            starts = len(before[flavor]) - len(after[flavor])
            lost += weight * shape.profiles[flavor].size * starts
        elif flavor == WHOLE and not taken:
            lost += weight * shape.axis
    return lost


def largest(model: str, taken: Taken) -> str | None:
    """Name the largest plain profile that still fits; None where none does."""
    fitting = [one.name for one in plain(model) if room(model, taken)[one.name]]
    return fitting[-1] if fitting else None


def holes(axis: int, taken: Sequence[Placement]) -> Iterator[tuple[int, int]]:
    """Give start and size of each gap between instances, on an axis so long."""
    at = 0
    for one in ordered(taken):
        if one.start > at:
            yield at, one.start - at
        at = max(at, one.start + one.size)
    if at < axis:
        yield at, axis - at
