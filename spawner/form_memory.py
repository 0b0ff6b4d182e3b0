"""The form's estimate of GPU memory: what its script needs, in words. Decides and sums nothing."""

from dataclasses import dataclass

from hub_ext.i18n import _
from hub_ext.lease import OfferSheet
from hub_ext.lease.estimating import MemoryUse


@dataclass(frozen=True)
class Estimating:
    """What the estimate shows; `groups` are the ways to use a model, by kind.

    `script` is where the service keeps the script that sums up; without it nothing is shown.
    """

    groups: tuple[tuple[str, tuple[MemoryUse, ...]], ...]
    script: str
    says: str
    words: tuple[tuple[str, str], ...]
    """How a profile stands, by name: a mark, a word and the figure."""


def estimating(sheet: OfferSheet | None, page: str) -> Estimating | None:
    """Offer the estimate; None where no GPU is offered, or the service's address is unknown."""
    if sheet is None or not page or not sheet.memory_uses:
        return None
    if all(offer.gpu_memory_bytes is None for offer in sheet.offers):
        return None
    kinds = (("run", _("Run a model")), ("adapt", _("Train adapters")), ("train", _("Train all")))
    groups = (
        (title, tuple(one for one in sheet.memory_uses if one.kind == kind))
        for kind, title in kinds
    )
    return Estimating(
        groups=tuple((title, uses) for title, uses in groups if uses),
        script=f"{page.removesuffix('queue')}static/memory.js",
        says=_(
            "About {total} of GPU memory: weights {weights}, gradients {gradients}, the "
            "optimiser's own {states}, activations and runtime {rest}."
        ),
        words=(
            ("fits", _("✓ Enough for this model: {memory} of GPU memory.")),
            ("tight", _("△ Tight for this model: {memory} of GPU memory; small batches only.")),
            (
                "too_small",
                _(
                    "✗ Too small for this model: {memory} of GPU memory, and it takes {least} at "
                    "least. You can choose it all the same."
                ),
            ),
        ),
    )
