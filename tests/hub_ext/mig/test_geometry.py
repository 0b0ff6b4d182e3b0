"""The table against facts known apart from it, and layouts against a brute-force enumeration."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import UnitError
from hub_ext.mig.geometry import (
    Geometry,
    Placement,
    declared_devices,
    device_units,
    geometry,
    place,
    profile_units,
    starts_left,
    table,
)
from hub_ext.policy.model import Node, Pool
from hub_ext.units import UNITS_PER_GPU

SEVEN = [name for name, shape in table().items() if shape.compute_slices == 7]
FOUR = [name for name, shape in table().items() if shape.compute_slices == 4]


def shapes(model: str) -> dict[str, str]:
    """Short shape ("3g", "1gD", "1g+me") of a model to its profile name."""
    shape = geometry(model)
    assert shape is not None
    names: dict[str, str] = {}
    for one in shape.profiles.values():
        rest = one.name.split("gb", 1)[1]
        double = one.memory_slices > one.compute_slices and one.compute_slices == 1
        names[f"{one.compute_slices}g{'D' if double else ''}{rest}"] = one.name
    return names


def instances(shape: Geometry) -> list[Placement]:
    return [
        Placement(one.name, start, one.size)
        for one in shape.profiles.values()
        for start in one.starts
    ]


def legal(shape: Geometry, layout: tuple[Placement, ...]) -> bool:
    """The rules once more, on memory cells instead of intervals."""
    cells: Counter[int] = Counter()
    media: Counter[str] = Counter()
    for one in layout:
        cells.update(range(one.start, one.start + one.size))
        media.update(shape.profiles[one.profile].attributes)
    without = sum("-me" in shape.profiles[one.profile].attributes for one in layout)
    return (
        max(cells.values(), default=0) <= 1
        and len(layout) <= shape.max_instances
        and media["me"] + media["me.all"] <= 1
        and (media["me.all"] == 0 or without == len(layout) - 1)
    )


def all_layouts(shape: Geometry) -> set[frozenset[Placement]]:
    """Every legal set of instances on one GPU, by trying all subsets that can be legal."""
    layouts = {frozenset[Placement]()}
    newest = layouts
    while newest:
        newest = {
            frozenset(bigger)
            for layout in newest
            for one in instances(shape)
            if one not in layout and legal(shape, bigger := (*layout, one))
        } - layouts
        layouts = layouts | newest
    return layouts


@pytest.mark.parametrize("model", SEVEN)
@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({"1g": 7}, True),
        ({"1g": 8}, False),
        ({"2g": 3, "1g": 1}, True),
        ({"2g": 4}, False),
        ({"3g": 2}, True),
        ({"3g": 2, "1g": 1}, False),
        ({"4g": 1, "3g": 1}, True),
        ({"4g": 2}, False),
        ({"4g": 1, "2g": 1, "1g": 1}, True),
        ({"4g": 1, "1g": 3}, True),
        ({"4g": 1, "1g": 4}, False),
        ({"3g": 1, "2g": 2}, True),
        ({"3g": 1, "2g": 1, "1g": 2}, True),
        ({"3g": 1, "1g": 4}, True),
        ({"3g": 1, "1g": 5}, False),
        ({"7g": 1}, True),
        ({"7g": 1, "1g": 1}, False),
        ({"1gD": 4}, True),
        ({"1gD": 4, "1g": 1}, False),
        ({"1gD": 1, "1g": 6}, True),
        ({"1g+me": 1, "1g": 6}, True),
        ({"1g+me": 2}, False),
    ],
)
def test_seven_slice_parts_hold_what_nvidia_documents(
    model: str, wanted: dict[str, int], fits: bool
) -> None:
    names = shapes(model)
    request = tuple(names[word] for word, count in wanted.items() for _ in range(count))
    assert (place(model, request) is not None) is fits


@pytest.mark.parametrize("model", FOUR)
@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({"1g": 4}, True),
        ({"1g": 5}, False),
        ({"2g": 2}, True),
        ({"2g": 1, "1g": 2}, True),
        ({"2g": 1, "1g": 3}, False),
        ({"4g": 1}, True),
        ({"4g": 1, "1g": 1}, False),
        ({"1g+me": 2}, False),
    ],
)
def test_four_slice_parts_hold_what_nvidia_documents(
    model: str, wanted: dict[str, int], fits: bool
) -> None:
    names = shapes(model)
    request = tuple(names[word] for word, count in wanted.items() for _ in range(count))
    assert (place(model, request) is not None) is fits


@pytest.mark.parametrize("model", SEVEN)
@pytest.mark.parametrize(
    ("there", "wanted", "fits"),
    [
        ([("3g", 0)], "4g", False),
        ([("3g", 4)], "4g", True),
        ([("1g", 3)], "4g", False),
        ([("1g", 6)], "4g", True),
        ([("1g", 6)], "3g", True),
        ([("1g", 0), ("1g", 4)], "3g", False),
    ],
)
def test_an_instance_never_moves_so_order_decides(
    model: str, there: list[tuple[str, int]], wanted: str, fits: bool
) -> None:
    names, shape = shapes(model), geometry(model)
    assert shape is not None
    taken = [
        Placement(names[word], start, shape.profiles[names[word]].size) for word, start in there
    ]
    assert bool(starts_left(shape, taken, names[wanted])) is fits


@pytest.mark.parametrize("model", SEVEN)
def test_seven_slice_parts_have_nineteen_maximal_layouts(model: str) -> None:
    shape = geometry(model)
    assert shape is not None
    without_double = {
        name: one
        for name, one in shape.profiles.items()
        if not one.attributes and not (one.compute_slices == 1 and one.memory_slices == 2)
    }
    layouts = all_layouts(shape.model_copy(update={"profiles": without_double}))
    maximal = [one for one in layouts if not any(one < other for other in layouts)]
    assert len(maximal) == 19


@pytest.mark.parametrize(("model", "count"), [("h200-141gb", 723), ("rtx-pro-6000-96gb", 26)])
def test_the_number_of_plain_layouts_is_the_known_one(model: str, count: int) -> None:
    shape = geometry(model)
    assert shape is not None
    plain = {name: one for name, one in shape.profiles.items() if not one.attributes}
    assert len(all_layouts(shape.model_copy(update={"profiles": plain}))) == count


@pytest.mark.parametrize("model", ["a30-24gb", "h200-141gb", "rtx-pro-6000-96gb"])
def test_placing_one_by_one_reaches_every_legal_layout_and_only_those(model: str) -> None:
    shape = geometry(model)
    assert shape is not None
    reached = {frozenset[Placement]()}
    newest = reached
    while newest:
        newest = {
            layout | {Placement(name, start, one.size)}
            for layout in newest
            for name, one in shape.profiles.items()
            for start in starts_left(shape, tuple(layout), name)
        } - reached
        reached = reached | newest
    assert reached == all_layouts(shape)


@pytest.mark.parametrize("model", ["a30-24gb", "h100-80gb"])
def test_a_set_of_profiles_is_placed_exactly_when_some_legal_layout_has_it(model: str) -> None:
    shape = geometry(model)
    assert shape is not None
    possible = {tuple(sorted(one.profile for one in layout)) for layout in all_layouts(shape)}
    for request in possible:
        layout = place(model, request)
        assert layout is not None
        assert legal(shape, layout)
        assert tuple(sorted(one.profile for one in layout)) == request
    one_more = {tuple(sorted((*request, name))) for request in possible for name in shape.profiles}
    assert all(place(model, request) is None for request in one_more - possible)


@given(data=st.data())
def test_layouts_do_not_depend_on_the_order_of_the_request(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(sorted(table())))
    names = sorted(table()[model].profiles)
    request = data.draw(st.lists(st.sampled_from(names), max_size=8))
    shuffled = data.draw(st.permutations(request))
    layout = place(model, tuple(request))
    assert layout == place(model, tuple(shuffled))
    if layout is not None:
        assert legal(table()[model], layout)
        assert Counter(one.profile for one in layout) == Counter(request)


@pytest.mark.parametrize("model", sorted(table()))
def test_units_of_a_profile_are_its_share_of_the_memory_slices(model: str) -> None:
    shape = geometry(model)
    assert shape is not None
    for one in shape.profiles.values():
        assert profile_units(model, one.name) * shape.memory_slices == (
            UNITS_PER_GPU * one.memory_slices
        )


@pytest.mark.parametrize("model", SEVEN)
def test_eight_small_ones_by_units_are_seven_by_geometry(model: str) -> None:
    small = shapes(model)["1g"]
    assert profile_units(model, small) * 8 == UNITS_PER_GPU
    assert place(model, (small,) * 8) is None


@pytest.mark.parametrize("model", sorted(table()))
def test_two_owners_of_the_media_engines_never_share_a_gpu(model: str) -> None:
    shape = table()[model]
    owners = [name for name, one in shape.profiles.items() if {"me", "me.all"} & {*one.attributes}]
    for pair in combinations([*owners, *owners], 2):
        assert place(model, pair) is None


def test_a_model_without_data_cannot_be_cut_and_says_so() -> None:
    assert geometry("l40s") is None
    assert place("l40s", ("1g.5gb",)) is None
    with pytest.raises(UnitError, match="has no MIG data"):
        profile_units("l40s", "1g.5gb")
    with pytest.raises(UnitError, match=r"it has 1g\.18gb"):
        profile_units("h200-141gb", "1g.5gb")


def test_the_policys_nodes_become_devices_with_steady_names() -> None:
    pool = Pool(
        model="h200-141gb",
        nodes=(
            Node(name="big-1", gpus=2, geometry=("whole", ("3g.71gb", "1g.18gb", "1g.18gb"))),
            Node(name="big-2", gpus=1),
        ),
    )
    devices = declared_devices("main", pool)
    assert [(one.node, one.gpu, one.mig_profile, one.start) for one in devices] == [
        ("big-1", 0, None, None),
        ("big-1", 1, "3g.71gb", 0),
        ("big-1", 1, "1g.18gb", 4),
        ("big-1", 1, "1g.18gb", 5),
        ("big-2", 0, None, None),
    ]
    assert len({one.id for one in devices}) == 5
    assert all(one.simulated and one.pool == "main" for one in devices)
    assert devices[0].id.startswith("SIM-GPU-")
    assert devices[1].id.startswith("SIM-MIG-")
    assert declared_devices("main", pool) == devices
    assert {one.id for one in declared_devices("other", pool)}.isdisjoint(
        {one.id for one in devices}
    )
    assert [device_units(one) for one in devices] == [840, 420, 105, 105, 840]


def test_an_impossible_cut_is_refused_by_name() -> None:
    pool = Pool(
        model="h200-141gb", nodes=(Node(name="n", gpus=1, geometry=(("4g.71gb", "4g.71gb"),)),)
    )
    with pytest.raises(UnitError, match="cannot be cut into"):
        declared_devices("main", pool)
