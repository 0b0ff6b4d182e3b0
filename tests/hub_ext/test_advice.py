"""The estimate of GPU memory follows its arithmetic, and agrees with what others have published."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.advice import RUNTIME_BYTES, estimate, fit, uses
from hub_ext.lease.estimating import MemoryUse
from hub_ext.mig.memory import memory_bytes

GIB, GB = 2**30, 10**9
BY_NAME = {one.name: one for one in uses()}
BILLION = 10**9


@pytest.mark.parametrize(
    ("billions", "use", "least", "most"),
    [
        # A model of 7 billion in 16 bits: 13 to 14 GiB, as every model card of that size says.
        (7, "run-16", 13 * GIB, 14 * GIB),
        # Llama 3.1, weights alone, as published with it: 8B, 70B and 405B in 16, 8 and 4 bits.
        (8, "run-16", 16 * GB, 16 * GB),
        (8, "run-8", 8 * GB, 8 * GB),
        (8, "run-4", 4 * GB, 4 * GB),
        (70, "run-16", 140 * GB, 140 * GB),
        (70, "run-4", 35 * GB, 35 * GB),
        (405, "run-16", 810 * GB, 810 * GB),
        # GPT-2 XL, 1.5 billion: 3 GB in 16 bits (ZeRO, 2020).
        (1.5, "run-16", 3 * GB, 3 * GB),
    ],
)
def test_weights_are_what_is_published(billions: float, use: str, least: int, most: int) -> None:
    assert least <= estimate(round(billions * BILLION), BY_NAME[use]).weights <= most


@pytest.mark.parametrize(
    ("billions", "use", "least", "most"),
    [
        # ZeRO, 2020: mixed precision with Adam takes 16 bytes a parameter before activations; a
        # model of 7.5 billion 120 GB. With gradients in 32 bits it is 18 (Transformers' manual).
        (7.5, "adam-16", 120 * GB, 135 * GB),
        (1, "adam-16", 16 * GB, 18 * GB),
        # 32 bits with Adam: 4 of weights, 4 of gradients, 8 of states.
        (1, "adam-32", 16 * GB, 16 * GB),
        # 8-bit Adam keeps two bytes of states: 12 in all with gradients in 32 bits.
        (1, "adam8-16", 10 * GB, 12 * GB),
        # SGD with momentum keeps four.
        (1, "sgd-32", 12 * GB, 12 * GB),
    ],
)
def test_what_training_holds_before_activations_is_what_is_published(
    billions: float, use: str, least: int, most: int
) -> None:
    made = estimate(round(billions * BILLION), BY_NAME[use])
    held = [made.weights + made.gradients[end] + made.states[end] for end in (0, 1)]
    assert held == [least, most]


def test_a_model_of_65_billion_is_adapted_in_4_bits_on_one_gpu_of_48_gib() -> None:
    # QLoRA, 2023. In 16 bits it takes several.
    assert fit(estimate(65 * BILLION, BY_NAME["adapt-4"]), 48 * GIB) != "too_small"
    assert fit(estimate(65 * BILLION, BY_NAME["adapt-16"]), 80 * GIB) == "too_small"


any_use = st.sampled_from(uses())
counts = st.integers(0, 10**13)


@given(counts, any_use)
def test_parts_make_the_total_and_more_is_never_less(parameters: int, use: MemoryUse) -> None:
    made = estimate(parameters, use)
    for end in (0, 1):
        parts = made.weights + made.gradients[end] + made.states[end] + made.rest[end]
        assert made.total[end] == parts
        assert made.rest[end] >= RUNTIME_BYTES[end]
    for pair in (made.gradients, made.states, made.rest, made.total):
        assert 0 <= pair[0] <= pair[1]


@given(counts, counts, any_use)
def test_a_larger_model_takes_no_less(one: int, other: int, use: MemoryUse) -> None:
    small, large = estimate(min(one, other), use), estimate(max(one, other), use)
    assert small.weights <= large.weights
    assert all(a <= b for a, b in zip(small.total, large.total, strict=True))


@given(counts)
def test_fewer_bits_take_no_more_and_training_takes_more_than_running(parameters: int) -> None:
    runs = [estimate(parameters, BY_NAME[f"run-{bits}"]).total for bits in (4, 8, 16, 32)]
    assert runs == sorted(runs)
    adapted = estimate(parameters, BY_NAME["adapt-16"]).total
    trained = estimate(parameters, BY_NAME["adam-16"]).total
    assert runs[2] <= adapted <= trained


@given(counts, any_use, st.integers(1, 10**15))
def test_a_profile_fits_is_tight_or_is_too_small(
    parameters: int, use: MemoryUse, memory: int
) -> None:
    least, most = (made := estimate(parameters, use)).total
    assert fit(made, least) in {"tight", "fits"}
    assert fit(made, most) == "fits"
    assert fit(made, least - 1) == "too_small"
    order = ["too_small", "tight", "fits"]
    assert order.index(fit(made, memory)) <= order.index(fit(made, memory + 1))


def test_no_model_has_fewer_than_no_parameters() -> None:
    with pytest.raises(ValueError, match="negative"):
        estimate(-1, uses()[0])


@pytest.mark.parametrize(
    ("part", "gib"),
    [
        ({"model": "h200-141gb"}, 141),
        ({"model": "h200-141gb", "gpus": 4}, 564),
        ({"model": "h200-141gb", "mig_profile": "1g.18gb"}, 18),
        ({"model": "a100-40gb", "mig_profile": "1g.5gb+me"}, 5),
        ({"model": "t4-16gb", "shared_by": 4}, 4),
        ({"model": "something"}, None),
        ({"model": "gb200"}, None),
    ],
)
def test_the_memory_of_a_part_is_what_its_name_says(part: dict[str, Any], gib: int | None) -> None:
    assert memory_bytes(**part) == (None if gib is None else gib * GIB)
