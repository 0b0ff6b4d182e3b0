"""Which GPU and start an instance gets, so that most of what will be asked for still fits.

Pure scoring over layouts; who may have the instance, and who makes it, is not known here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .geometry import Placement, geometry
from .layouts import Mix, Taken, loss, ordered, room


@dataclass(frozen=True, slots=True)
class Slate:
    """One GPU as a placement sees it.

    `taken` are instances in use; `idle` exist too, and may be handed out or unmade.
    """

    node: str
    gpu: int
    model: str
    taken: Taken = ()
    idle: Taken = ()


Score = tuple[int, int, int, str, int]


def score(slate: Slate, one: Placement, mix: Mix) -> Score:
    """Rank one instance on one GPU; the least is the best.

    Tie-breakers, in this order:

    1. placements that it takes from the mix, see `layouts.loss`;
    2. the fuller GPU: the fewest units of memory that are not in use;
    3. the highest start, because the low starts serve most other profiles;
    4. the node's name and the GPU's index.
    """
    in_use = sum(other.size for other in slate.taken)
    return (loss(slate.model, slate.taken, one, mix), -in_use, -one.start, slate.node, slate.gpu)


def choose(
    slates: Sequence[Slate], profile: str, mix: Mix, *, whole: int = 0
) -> tuple[Slate, Placement] | None:
    """Choose GPU and start for one more instance; None where it fits nowhere.

    An idle instance of the profile is taken before one is made, and one is made in free room
    before idle instances are unmade for it.

    Parameters
    ----------
    whole
        GPUs without an instance in use that must be left so, for whole-GPU guarantees that are
        unused.
    """
    bare = sum(1 for slate in slates if not slate.taken)
    open_ = [slate for slate in slates if slate.taken or bare > whole]
    for starts in (_idle, _free, _unmade):
        found = [
            (score(slate, one, mix), slate, one)
            for slate in open_
            for one in starts(slate, profile)
        ]
        if found:
            _score, slate, one = min(found, key=lambda each: each[0])
            return slate, one
    return None


def _idle(slate: Slate, profile: str) -> Iterable[Placement]:
    return (one for one in slate.idle if one.profile == profile)


def _free(slate: Slate, profile: str) -> Iterable[Placement]:
    return _made(slate, profile, ordered((*slate.taken, *slate.idle)))


def _unmade(slate: Slate, profile: str) -> Iterable[Placement]:
    return _made(slate, profile, slate.taken)


def _made(slate: Slate, profile: str, there: Taken) -> Iterable[Placement]:
    shape = geometry(slate.model)
    if shape is None or profile not in shape.profiles:
        return
    size = shape.profiles[profile].size
    for start in room(slate.model, there)[profile]:
        yield Placement(profile, start, size)
