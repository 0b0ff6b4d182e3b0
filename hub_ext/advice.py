"""Advice before a start: how much GPU memory a model takes, and which profile is too small. Pure.

It is an estimate and forces nothing. Weights, gradients and optimiser states follow from the number
of parameters; activations do not, so they are a range that is stated.
"""

from .i18n import _
from .lease.estimating import Fit, MemoryEstimate, MemoryUse

THOUSAND_BYTES = 8 * 1000
"""Bits of a thousand parameters to bytes of one."""

RUNTIME_BYTES = (512 * 2**20, 3 * 2**29)
"""What CUDA's context and the libraries' kernels take on a GPU: half a GiB to one and a half."""

RUN_PERCENT = (2, 20)
"""Beside the weights of a model that only runs: a short prompt to the usual rule of a fifth."""

TRAIN_PERCENT = (10, 100)
"""Activations of training: recomputed and in small batches, to as much again as all the rest."""

ADAPTER_MILLE = (1, 10)
"""Parameters that adapters (LoRA) train, of a thousand of the model: 0.1 % to 1 %."""

ADAM_BITS = 64
"""Two moments of 32 bits each."""

MASTER_BITS = 32
"""Mixed precision keeps a copy of the weights in 32 bits, which the optimiser changes."""


def uses() -> tuple[MemoryUse, ...]:
    """Ways to use a model that people choose among, the lightest of each kind last."""
    return (
        _run("run-32", 32, _("run it, 32 bits (float32)")),
        _run("run-16", 16, _("run it, 16 bits (bfloat16, float16)")),
        _run("run-8", 8, _("run it, 8 bits (int8, fp8)")),
        _run("run-4", 4, _("run it, 4 bits (int4, nf4)")),
        _adapt("adapt-16", 16, _("train adapters (LoRA) on 16 bits")),
        _adapt("adapt-8", 8, _("train adapters (LoRA) on 8 bits")),
        _adapt("adapt-4", 4, _("train adapters (QLoRA) on 4 bits")),
        _train("adam-32", 32, ADAM_BITS, _("train all of it, 32 bits, Adam")),
        _train("sgd-32", 32, 32, _("train all of it, 32 bits, SGD with momentum")),
        _train("adam-16", 16, ADAM_BITS, _("train all of it, mixed precision, Adam")),
        _train("adam8-16", 16, 16, _("train all of it, mixed precision, 8-bit Adam")),
        _train("sgd-16", 16, 32, _("train all of it, mixed precision, SGD with momentum")),
    )


def estimate(parameters: int, use: MemoryUse) -> MemoryEstimate:
    """Estimate what a model of so many parameters takes, in bytes, each part rounded up.

    Raises
    ------
    ValueError
        When the number of parameters is negative.
    """
    if parameters < 0:
        raise ValueError("a model has no negative number of parameters")
    weights = _bytes(parameters, use.weights_bits)
    gradients, states = (
        (_bytes(parameters, least), _bytes(parameters, most))
        for least, most in (use.gradients_bits, use.states_bits)
    )
    rest = tuple(
        _share(weights + gradients[end] + states[end], use.rest_percent[end]) + RUNTIME_BYTES[end]
        for end in (0, 1)
    )
    return MemoryEstimate(
        weights=weights, gradients=gradients, states=states, rest=(rest[0], rest[1])
    )


def fit(needed: MemoryEstimate, memory_bytes: int) -> Fit:
    """Say whether it fits: at its most, at its least only, or not at all."""
    least, most = needed.total
    if memory_bytes < least:
        return "too_small"
    return "fits" if memory_bytes >= most else "tight"


def _run(name: str, bits: int, title: str) -> MemoryUse:
    return MemoryUse(
        name=name, kind="run", title=title, weights_bits=1000 * bits, rest_percent=RUN_PERCENT
    )


def _adapt(name: str, bits: int, title: str) -> MemoryUse:
    """Adapters are trained like a model of their own; the weights below them stand still."""
    least, most = ADAPTER_MILLE
    return MemoryUse(
        name=name,
        kind="adapt",
        title=title,
        weights_bits=1000 * bits,
        gradients_bits=(16 * least, 32 * most),
        states_bits=((MASTER_BITS + ADAM_BITS) * least, (MASTER_BITS + ADAM_BITS) * most),
        rest_percent=TRAIN_PERCENT,
    )


def _train(name: str, bits: int, states: int, title: str) -> MemoryUse:
    kept = states + (MASTER_BITS if bits < MASTER_BITS else 0)
    return MemoryUse(
        name=name,
        kind="train",
        title=title,
        weights_bits=1000 * bits,
        gradients_bits=(1000 * bits, 1000 * 32),
        states_bits=(1000 * kept, 1000 * kept),
        rest_percent=TRAIN_PERCENT,
    )


def _bytes(parameters: int, bits: int) -> int:
    return -(-parameters * bits // THOUSAND_BYTES)


def _share(total: int, percent: int) -> int:
    return -(-total * percent // 100)
