"""How much of what is free is of no use, and the drawing of each GPU from end to end."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Device, GpuMap, LeaseId
from hub_ext.mig.fragments import fragmentation
from hub_ext.mig.geometry import declared_devices
from hub_ext.mig.mapping import gpu_maps
from hub_ext.policy.model import Node, Pool

MIXED = Pool(
    model="h200-141gb",
    nodes=(
        Node(name="a", gpus=2, geometry=(("1g.18gb",) * 7, ("3g.71gb", "3g.71gb"))),
        Node(name="b", gpus=3),
    ),
)
DEVICES = declared_devices("mixed", MIXED)


def free(*, profiles: tuple[str | None, ...]) -> list[Device]:
    """Devices of these kinds only."""
    return [device for device in DEVICES if device.mig_profile in profiles]


def test_seven_small_instances_are_all_waste_to_whom_only_large_ones_help() -> None:
    small = free(profiles=("1g.18gb",))
    assert fragmentation(small, {"3g.71gb": 5}) == 1
    assert fragmentation(small, {"1g.18gb": 5}) == 0
    assert fragmentation(small, {"1g.18gb": 3, "3g.71gb": 1}) == Fraction(1, 4)


def test_a_third_gpu_is_waste_to_whoever_takes_two_at_once() -> None:
    whole = free(profiles=(None,))
    assert fragmentation(whole, {"gpu-1": 1}) == 0
    assert fragmentation(whole, {"gpu-2": 1}) == Fraction(1, 3)
    assert fragmentation(whole, {"gpu-4": 1}) == 1


def test_nothing_free_or_nothing_asked_for_has_no_fragmentation() -> None:
    assert fragmentation([], {"gpu-1": 1}) is None
    assert fragmentation(DEVICES, {}) is None


@given(
    there=st.lists(st.sampled_from(DEVICES), unique_by=lambda one: one.id),
    asked=st.dictionaries(
        st.sampled_from(["gpu-1", "gpu-2", "1g.18gb", "3g.71gb"]), st.integers(1, 9)
    ),
)
def test_the_figure_is_a_share_and_the_same_in_any_order(
    there: list[Device], asked: dict[str, int]
) -> None:
    share = fragmentation(there, asked)
    assert (share is None) == (not there or not asked)
    assert share is None or 0 <= share <= 1
    assert fragmentation(there[::-1], asked) == share


def maps(**states: str) -> dict[tuple[str, int], GpuMap]:
    """Draw the GPUs; a device is named by machine, index and start, "a-1-4"."""
    named = {f"{one.node}_{one.gpu}_{one.start or 0}": one.id for one in DEVICES}
    held = {named[key]: LeaseId("l-1") for key, state in states.items() if state == "held"}
    out = {named[key] for key, state in states.items() if state == "out"}
    serving = {one.id for one in DEVICES} - out
    drawn = gpu_maps(DEVICES[::-1], held=held, serving=serving)
    return {(one.node, one.gpu): one for one in drawn}


def test_a_gpu_is_drawn_with_its_instances_and_the_hole_that_the_cut_left() -> None:
    first = maps(a_0_0="held", a_0_6="out")["a", 0]
    assert [(part.start, part.size, part.state) for part in first.parts] == [
        (0, 1, "held"),
        *((start, 1, "free") for start in range(1, 6)),
        (6, 1, "out"),
        (7, 1, "hole"),
    ]
    assert first.parts[0].lease_id == "l-1"
    assert first.axis == 8
    assert first.largest == "1g.18gb"


def test_what_would_fit_if_the_rest_were_cut_anew_looks_beside_what_is_in_use() -> None:
    drawn = maps(a_0_0="held", a_1_4="held")
    assert (drawn["a", 0].largest, drawn["a", 0].recut) == ("1g.18gb", "3g.71gb")
    assert (drawn["a", 1].largest, drawn["a", 1].recut) == ("3g.71gb", "4g.71gb")


def test_a_whole_gpu_is_one_part_from_end_to_end_and_nothing_of_it_is_cut_anew() -> None:
    whole = maps(b_0_0="held")
    assert [(part.start, part.size, part.state) for part in whole["b", 0].parts] == [(0, 8, "held")]
    assert whole["b", 0].largest is None
    assert (whole["b", 1].largest, whole["b", 1].recut, whole["b", 1].cut) == ("gpu", None, False)


def test_a_model_that_cannot_be_cut_is_one_unit_long() -> None:
    there = declared_devices("w", Pool(model="l40s", nodes=(Node(name="a", gpus=1),)))
    (drawn,) = gpu_maps(there, held={}, serving={there[0].id})
    assert drawn.axis == 1
    assert [(part.start, part.size) for part in drawn.parts] == [(0, 1)]
