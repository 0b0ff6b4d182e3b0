"""The drawing of each GPU on the admin's page: bars for the eye, a sentence for everybody."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ...i18n import _, ngettext
from ...lease import GpuMap, Part, PoolMap

WIDTH = 400
"""Width of a whole GPU in the drawing's own units."""

LETTER = 9
"""Width of a letter, rather too much than too little: words never leave their part."""


@dataclass(frozen=True)
class Bar:
    """One part of a GPU as it is drawn."""

    x: int
    width: int
    state_key: str
    label: str
    title: str


@dataclass(frozen=True)
class GpuRow:
    """One GPU: its bars, the same in words, and what fits."""

    place: str
    bars: tuple[Bar, ...]
    words: str
    largest: str
    recut: str


@dataclass(frozen=True)
class Drawing:
    """The GPUs of a pool."""

    gpus: tuple[GpuRow, ...]
    fragmentation: str
    asked: str


def drawing(pool: PoolMap) -> Drawing:
    """Put one pool's map into bars and words."""
    wishes = (f"{count} x {name}" for name, count in sorted(pool.asked.items()))
    return Drawing(
        gpus=tuple(_row(gpu) for gpu in pool.gpus),
        fragmentation=_fragmentation(pool),
        asked=", ".join(wishes),
    )


def _fragmentation(pool: PoolMap) -> str:
    if pool.fragmentation_percent is None:
        return ""
    return _("{percent} % of what is free cannot be used by a typical request.").format(
        percent=pool.fragmentation_percent
    )


def _row(gpu: GpuMap) -> GpuRow:
    return GpuRow(
        place=_("{node}, GPU {gpu}").format(node=gpu.node, gpu=gpu.gpu),
        bars=tuple(_bar(part, gpu) for part in gpu.parts),
        words=", ".join(_counted(gpu)),
        largest=_largest(gpu),
        recut=gpu.recut or "",
    )


def _largest(gpu: GpuMap) -> str:
    if gpu.largest is None:
        return _("nothing")
    return gpu.largest if gpu.cut else _("whole GPU")


def _bar(part: Part, gpu: GpuMap) -> Bar:
    left = part.start * WIDTH // gpu.axis
    width = (part.start + part.size) * WIDTH // gpu.axis - left
    kind = _kind(part)
    labels = [kind, kind.split(".", 1)[0]] if part.state != "hole" else []
    return Bar(
        x=left,
        width=width,
        state_key=part.state,
        label=next((one for one in labels if LETTER * len(one) < width), ""),
        title=f"{kind}, {_state(part)}" if part.state != "hole" else kind,
    )


def _counted(gpu: GpuMap) -> Iterator[str]:
    """Say the parts in their order; equal neighbours in one word."""
    for (kind, state), same in groupby(gpu.parts, key=lambda one: (_kind(one), _state(one))):
        parts = list(same)
        if parts[0].state == "hole":
            size = sum(one.size for one in parts)
            yield ngettext("a hole of {n} of {axis}", "a hole of {n} of {axis}", size).format(
                n=size, axis=gpu.axis
            )
        else:
            yield _("{n} x {kind} {state}").format(n=len(parts), kind=kind, state=state)


def _kind(part: Part) -> str:
    if part.state == "hole":
        return _("hole")
    return part.kind or _("whole GPU")


def _state(part: Part) -> str:
    return {
        "held": _("held"),
        "free": _("free"),
        "out": _("out of service"),
        "hole": "",
    }[part.state]
