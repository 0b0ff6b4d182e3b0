"""What a policy declares in numbers: devices of each kind in a pool, and who may have which.

A kind is a MIG profile, a time-share, or `whole` for an uncut GPU. What exists is not known here.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ..i18n import _
from ..lease import share_name
from ..mig.geometry import cuts, part_units, parts_of, place
from ..units import UNITS_PER_GPU, gpus_text
from .catalogue import may_choose
from .model import GpuFlavor, MigFlavor, Policy, Pool, Profile, ShareFlavor

WHOLE = "whole"
"""The kind of an uncut GPU."""


class Capacity(NamedTuple):
    """Declared devices of a pool, by kind, and the most whole GPUs on one machine."""

    counts: Mapping[str, int]
    units_each: Mapping[str, int]
    most_whole: int
    gpus: int
    sound: bool
    """Every cut is one that the model can have; otherwise the counts say little."""

    @property
    def units(self) -> int:
        """Units of all devices; a cut GPU may hold less than 840."""
        return sum(count * self.units_each[kind] for kind, count in self.counts.items())

    def words(self) -> str:
        """Write it for people: "7 x 1g.18gb, 2 x whole"."""
        return ", ".join(f"{count} x {kind}" for kind, count in self.counts.items()) or "-"


def capacity(pool: Pool) -> Capacity:
    """Count a pool's declared devices. Cuts that the model cannot have count as nothing."""
    counts: Counter[str] = Counter()
    most_whole, sound = 0, True
    for node in pool.nodes:
        whole = 0
        for cut in cuts(node):
            if cut == "whole":
                whole += 1
            elif not isinstance(cut, tuple) or place(pool.model, cut) is not None:
                counts.update(parts_of(cut))
            else:
                sound = False
        counts[WHOLE] += whole
        most_whole = max(most_whole, whole)
    present = {kind: count for kind, count in counts.items() if count}
    each = {
        kind: UNITS_PER_GPU if kind == WHOLE else part_units(pool.model, kind) for kind in present
    }
    return Capacity(present, each, most_whole, sum(node.gpus for node in pool.nodes), sound)


def capacities(policy: Policy) -> dict[str, Capacity]:
    """Count every pool once."""
    return {name: capacity(pool) for name, pool in policy.pools.items()}


def kind_of(profile: Profile) -> str | None:
    """Kind of device that a profile takes; None without a GPU."""
    match profile.flavor:
        case GpuFlavor():
            return WHOLE
        case MigFlavor(mig=mig):
            return mig
        case ShareFlavor(share=count):
            return share_name(count)
        case "none":
            return None


def profiles_for(policy: Policy, team: str, pool: str) -> tuple[Profile, ...]:
    """Profiles of a pool that a team may choose."""
    return tuple(
        profile
        for name, profile in policy.profiles.items()
        if profile.pool == pool and may_choose(policy, team, name)
    )


def gpus_words(units: int) -> str:
    """Write units for people: "0.5 GPU", "2 GPUs"."""
    if units <= UNITS_PER_GPU:
        return _("{n} GPU").format(n=gpus_text(units))
    return _("{n} GPUs").format(n=gpus_text(units))
