"""People who start one server after another, each kind in its own way; made up, with a seed.

What each lease needs is known here, so a hint can be judged by the lease that comes after it.
"""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hub_ext.lease import ProfileName, TeamName
from hub_ext.reports.rightsizing import Peak, Size, smaller
from hub_ext.units import UNITS_PER_GPU

GIB = 2**30
TEAM = TeamName("vision")


def size(name: str, units: int, work: int, memory_gb: int, price: int) -> Size:
    """Make a profile of an H200."""
    return Size(
        profile=ProfileName(name),
        title=name,
        team=TEAM,
        model="h200-141gb",
        units=units,
        work_units=work,
        memory_bytes=memory_gb * 95 * 10**7,
        price_micro=price,
    )


WHOLE = size("whole", 840, 840, 141, 4_200_000)
SIZES = (
    size("1g.18gb", 105, 120, 18, 800_000),
    size("2g.35gb", 210, 240, 35, 1_300_000),
    size("3g.71gb", 420, 360, 71, 2_400_000),
    WHOLE,
)


class Lease(NamedTuple):
    """What one lease really needs, and how long it is held."""

    memory_gib: float
    busy_percent: float
    hours: float


Draw = Callable[[random.Random, int], Lease]
"""The n-th lease of a person."""


def _steady(memory: float, busy: float) -> Draw:
    def draw(dice: random.Random, _n: int) -> Lease:
        return Lease(
            memory * dice.uniform(0.85, 1.05), busy * dice.uniform(0.7, 1.1), dice.uniform(0.5, 6)
        )

    return draw


def _growing(dice: random.Random, n: int) -> Lease:
    return Lease(6 * 1.08**n * dice.uniform(0.9, 1.1), 20 + n, dice.uniform(0.5, 4))


def _bursty(dice: random.Random, _n: int) -> Lease:
    large = dice.random() < 0.08
    return Lease(90 if large else dice.uniform(4, 12), 95 if large else 25, dice.uniform(0.5, 8))


def _tailed(dice: random.Random, _n: int) -> Lease:
    return Lease(
        min(130, 8 * dice.lognormvariate(0, 0.35)),
        min(100, 15 * dice.lognormvariate(0, 0.4)),
        dice.uniform(0.5, 8),
    )


KINDS: dict[str, Draw] = {
    "reads and plots": _steady(4, 5),
    "small models": _steady(12, 18),
    "middling": _steady(28, 30),
    "large models": _steady(110, 85),
    "a model that grows": _growing,
    "mostly small, now and then large": _bursty,
    "a long tail": _tailed,
}


class Judged(NamedTuple):
    """What hints would have come to, had everybody who could followed them."""

    starts: int
    hints: int
    too_small: int
    saved_micro: int
    spent_micro: int

    @property
    def too_small_percent(self) -> float:
        """Share of the hints after which the next lease would not have fitted."""
        return 100 * self.too_small / self.hints

    @property
    def saved_percent(self) -> float:
        """Of all that the whole GPUs cost; a hint that was too small saves nothing."""
        return 100 * self.saved_micro / self.spent_micro


def judged(seed: int, *, people: int = 20, starts: int = 30) -> Judged:
    """Let people of each kind start whole GPUs, and judge each hint by the lease that follows."""
    dice = random.Random(seed)
    total = Judged(0, 0, 0, 0, 0)
    for draw in KINDS.values():
        for _person in range(people):
            for one in _life(dice, draw, starts):
                total = Judged(*(a + b for a, b in zip(total, one, strict=True)))
    return total


def _life(dice: random.Random, draw: Draw, starts: int) -> Iterator[Judged]:
    past: list[Peak] = []
    for n in range(starts):
        lease = draw(dice, n)
        cost = int(WHOLE.price_micro * lease.hours)
        hint = smaller(WHOLE, SIZES, past[-20:], "EUR")
        if hint is None:
            yield Judged(1, 0, 0, 0, cost)
        else:
            chosen = next(one for one in SIZES if one.profile == hint.profile)
            fits = _fits(lease, chosen)
            saved = int(hint.saves_micro_per_hour * lease.hours) if fits else 0
            yield Judged(1, 1, 0 if fits else 1, saved, cost)
        past.append(_seen(dice, lease))


def _fits(lease: Lease, chosen: Size) -> bool:
    work = lease.busy_percent * UNITS_PER_GPU / 100
    return lease.memory_gib * GIB <= chosen.memory_bytes and work <= chosen.work_units


def _seen(dice: random.Random, lease: Lease) -> Peak:
    """What readings tell: the peak between two of them is missed now and then, some are missing."""
    held_s = int(lease.hours * 3600)
    return Peak(
        memory_bytes=int(lease.memory_gib * GIB * dice.uniform(0.93, 1)),
        busy_units=int(lease.busy_percent * UNITS_PER_GPU / 100 * dice.uniform(0.85, 1)),
        measured_s=int(held_s * dice.uniform(0.4, 1)),
        held_s=held_s,
    )
