"""How much GPU memory a model takes: ways to use one, and what an estimate consists of."""

from typing import Annotated, Literal

from pydantic import Field

from .words import ShortText, Value

Bits = Annotated[int, Field(ge=0)]

Fit = Literal["fits", "tight", "too_small"]


class MemoryUse(Value):
    """One way to use a model, and what a thousand of its parameters take then, in bits.

    `rest_percent` is what activations and the like take of all the other parts, at least and at
    most.
    """

    name: ShortText
    kind: Literal["run", "adapt", "train"]
    title: str
    weights_bits: Bits
    gradients_bits: tuple[Bits, Bits] = (0, 0)
    """At least and at most: gradients of 16 bits are summed up in 32 by some."""
    states_bits: tuple[Bits, Bits] = (0, 0)
    """The optimiser's own copies, at least and at most."""
    rest_percent: tuple[int, int]


class MemoryEstimate(Value):
    """Bytes of GPU memory that a model is likely to take, by part; pairs are at least and at most.

    `rest` are activations and what the runtime itself takes.
    """

    weights: int
    gradients: tuple[int, int]
    states: tuple[int, int]
    rest: tuple[int, int]

    @property
    def total(self) -> tuple[int, int]:
        """All together, at least and at most."""
        least, most = (
            self.weights + self.gradients[end] + self.states[end] + self.rest[end] for end in (0, 1)
        )
        return least, most
