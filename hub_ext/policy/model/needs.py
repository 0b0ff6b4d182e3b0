"""What a project cannot do without: how far it is kept apart, and how new drivers must be."""

from typing import Annotated

from pydantic import AfterValidator

from ...lease import Isolation
from ..words import Part
from .images import Release


def _ordered(isolation: Isolation) -> Isolation:
    if isolation is Isolation.vgpu:
        raise ValueError(
            "a virtual GPU is no step between the others; name the least of `time-slice`, `mig`, "
            "`gpu` and `node` that will do"
        )
    return isolation


class Needs(Part):
    """The least that a project's GPU servers must get; what offers less is refused to it."""

    isolation: Annotated[Isolation, AfterValidator(_ordered)] = Isolation.none
    """What keeps its servers apart from others on the same hardware, at least: `time-slice` (a
    GPU in turns, memory not apart; a virtual GPU counts as no more), `mig` (a MIG device), `gpu` (a
    whole GPU), `node` (a machine alone). Default `none`: anything."""
    driver: Release | None = None
    """Oldest NVIDIA driver, for example "570.133.20". A pool that does not say its `driver` is not
    new enough."""
    toolkit: Release | None = None
    """Oldest NVIDIA Container Toolkit, for example "1.17.8", where older ones let a container out.
    A pool that does not say its `toolkit` is not new enough."""
