"""`gpu-commons capacity`: every GPU drawn with its holes, and the largest profile that fits.

It asks the living governor, because only that knows what the agents find; it changes nothing.
"""

import argparse
import json
from collections.abc import Iterator

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import CapacitySheet, GpuMap, Part, PoolMap
from .acts import asked
from .onsite import add_state, onsite

BAR = 32
"""Characters of a GPU from end to end, at least."""

LEAST_CELL = 3
"""Characters of one unit of the placement axis, at least."""

MARKS = {"held": "#", "free": ".", "out": "x", "hole": " "}
"""What fills a part; an idle instance is free, a hole was never cut."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_state(parser)
    parser.add_argument("--pool", metavar="P", help=_("only this pool"))
    parser.add_argument("--json", action="store_true", help=_("as JSON"))


def run(args: argparse.Namespace) -> int:
    """Print the drawing and return 0.

    Raises
    ------
    GpuCommonsError
        When no governor lives, or there is no such pool.
    """
    site = onsite(args.state)
    pid = site.governor()
    if pid is None:
        raise GpuCommonsError(
            _("no governor lives, and only it knows what the agents find; start the hub first")
        )
    sheet = only(asked(site, pid, "capacity", CapacitySheet), args.pool)
    if args.json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
        return 0
    print("\n".join(lines(sheet)))
    return 0


def only(sheet: CapacitySheet, pool: str | None) -> CapacitySheet:
    """Leave one pool of the sheet, or all.

    Raises
    ------
    GpuCommonsError
        When there is no such pool.
    """
    if pool is None:
        return sheet
    pools = tuple(one for one in sheet.pools if one.pool == pool)
    if not pools:
        names = ", ".join(one.pool for one in sheet.pools)
        raise GpuCommonsError(
            _("there is no pool {pool}; there are {names}").format(pool=repr(pool), names=names)
        )
    return sheet.model_copy(update={"pools": pools})


def lines(sheet: CapacitySheet) -> Iterator[str]:
    """Write the sheet line by line: each pool, each GPU, and what the marks mean."""
    for pool in sheet.pools:
        yield from _pool_lines(pool)
        yield ""
    yield _("#  held   .  free   x  out of service   blank  hole")
    yield from sheet.drift


def _pool_lines(pool: PoolMap) -> Iterator[str]:
    yield f"{pool.pool} ({pool.model}): {_fragmentation(pool)}"
    if pool.asked:
        wishes = (f"{count} x {name}" for name, count in sorted(pool.asked.items()))
        yield _("asked for: {wishes}").format(wishes=", ".join(wishes))
    places = [_("{node} GPU {gpu}").format(node=one.node, gpu=one.gpu) for one in pool.gpus]
    width = max(map(len, places), default=0)
    for place, gpu in zip(places, pool.gpus, strict=True):
        yield f"{place.ljust(width)}  {bar(gpu)}  {fits(gpu)}".rstrip()
    if not pool.gpus:
        yield _("no device of it was found")


def _fragmentation(pool: PoolMap) -> str:
    if not any(gpu.largest for gpu in pool.gpus):
        return _("nothing is free")
    if pool.fragmentation_percent is None:
        return _("no profile asks for it")
    return _("{percent} % of what is free cannot be used by a typical request").format(
        percent=pool.fragmentation_percent
    )


def bar(gpu: GpuMap) -> str:
    """Draw one GPU; each part begins with `|` and has its profile's first word, if it fits."""
    cell = max(LEAST_CELL, BAR // gpu.axis)
    return "".join(_part(one, one.size * cell) for one in gpu.parts) + "|"


def _part(part: Part, width: int) -> str:
    mark = MARKS[part.state]
    if part.state == "hole":
        return "|" + mark * (width - 1)
    name = part.kind or _("whole")
    for label in (name, name.split(".", 1)[0]):
        if len(label) < width:
            return "|" + label.ljust(width - 1, mark)
    return "|" + mark * (width - 1)


def fits(gpu: GpuMap) -> str:
    """Say what is the largest that fits now, and what would if the rest were cut anew."""
    if gpu.largest is None:
        words = _("full")
    elif gpu.cut:
        words = _("fits {largest}").format(largest=gpu.largest)
    else:
        words = _("free")
    if gpu.recut is not None and gpu.recut != gpu.largest:
        words += _("; cut anew: {recut}").format(recut=gpu.recut)
    return words
