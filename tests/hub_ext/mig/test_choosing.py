"""Which GPU and start an instance gets: what is asked for next must still fit."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.mig.choosing import Slate, choose
from hub_ext.mig.geometry import Placement, geometry, table
from hub_ext.mig.layouts import (
    GRAIN,
    WHOLE,
    Taken,
    holes,
    largest,
    loss,
    mix_of,
    ordered,
    plain,
    room,
    uniform,
)

H200 = "h200-141gb"
G1, G2, G3, G4, G7 = "1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"


def at(profile: str, start: int) -> Placement:
    """An instance on an H200."""
    shape = geometry(H200)
    assert shape is not None
    return Placement(profile, start, shape.profiles[profile].size)


def gpu(index: int, *taken: Placement, idle: tuple[Placement, ...] = ()) -> Slate:
    """One GPU of the only node."""
    return Slate("node-1", index, H200, ordered(taken), ordered(idle))


def chosen(*slates: Slate, profile: str, whole: int = 0) -> tuple[int, int] | None:
    """GPU and start for one more instance, for a site that asks for everything alike."""
    found = choose(slates, profile, uniform(H200), whole=whole)
    return None if found is None else (found[0].gpu, found[1].start)


def test_small_instances_go_where_no_large_one_can_begin() -> None:
    there: list[Placement] = []
    for start in (6, 5, 4):
        assert chosen(gpu(0, *there), profile=G1) == (0, start)
        there.append(at(G1, start))
    assert room(H200, ordered(there))[G4] == (0,)


def test_a_three_slice_instance_leaves_the_lower_half_to_the_four_slice_one() -> None:
    assert chosen(gpu(0), profile=G3) == (0, 4)
    assert chosen(gpu(0, at(G3, 4)), profile=G4) == (0, 0)


def test_a_gpu_in_use_is_filled_before_another_is_opened() -> None:
    assert chosen(gpu(0), gpu(1, at(G1, 6)), profile=G1) == (1, 5)


def test_what_the_site_asks_for_decides() -> None:
    half_full = gpu(0, at(G3, 4))
    bare = gpu(1)
    # Whoever asks for four slices alone needs every lower half; then a bare GPU costs nothing
    # that the other would not cost, and the fuller one is filled.
    only_large = mix_of({G7: 1})
    assert choose([half_full, bare], G1, only_large) == (half_full, at(G1, 3))
    halves = mix_of({G4: 1})
    assert choose([half_full, bare], G1, halves) == (bare, at(G1, 6))


def test_an_idle_instance_is_taken_before_one_is_made() -> None:
    idle = gpu(1, idle=(at(G1, 0),))
    assert chosen(gpu(0, at(G1, 6)), idle, profile=G1) == (1, 0)


def test_idle_instances_are_unmade_only_where_nothing_else_has_room() -> None:
    cut = gpu(0, idle=tuple(at(G1, start) for start in range(7)))
    assert chosen(cut, gpu(1), profile=G3) == (1, 4)
    assert chosen(cut, profile=G3) == (0, 4)


def test_a_gpu_stays_whole_for_a_guarantee_that_is_unused() -> None:
    slates = [gpu(0, at(G4, 0)), gpu(1)]
    assert chosen(*slates, profile=G4) == (1, 0)
    assert chosen(*slates, profile=G4, whole=1) is None
    assert chosen(*slates, profile=G3, whole=1) == (0, 4)


def test_a_profile_that_the_model_has_not_fits_nowhere() -> None:
    assert chosen(gpu(0), profile="1g.5gb") is None
    assert choose([Slate("node-1", 0, "l40s")], G1, ()) is None


def test_a_mix_is_kept_coarse_and_never_forgets_what_is_offered() -> None:
    assert mix_of({}, [G1, G3]) == ((G1, 1), (G3, 1))
    assert mix_of({G1: 1}) == mix_of({G1: 1, G3: 0})
    busy = dict(mix_of({G1: 10_000}, [G1, G3]))
    assert busy == {G1: GRAIN, G3: 1}


def test_holes_and_the_largest_profile_that_fits_them() -> None:
    taken = (at(G1, 0), at(G2, 4))
    assert list(holes(8, taken)) == [(1, 3), (6, 2)]
    assert largest(H200, ordered(taken)) == G2
    assert largest(H200, (at(G7, 0),)) is None
    assert list(holes(8, (at(G7, 0),))) == []
    assert largest(H200, ()) == G7


def test_a_whole_gpu_that_is_asked_for_is_lost_with_the_first_instance_only() -> None:
    whole = mix_of({WHOLE: 1})
    assert loss(H200, (), at(G1, 6), whole) == 8
    assert loss(H200, (at(G1, 6),), at(G1, 5), whole) == 0


def plain_names(model: str) -> list[str]:
    return [one.name for one in plain(model)]


@pytest.mark.parametrize("model", sorted(table()))
def test_every_plain_layout_is_reached_by_choices_and_ends_and_only_those(model: str) -> None:
    """No layout is out of reach for good, and no sequence of starts and ends leaves the legal."""
    shape = geometry(model)
    assert shape is not None
    legal = _enumerated(model)
    reached: set[Taken] = {()}
    newest = reached
    while newest:
        following: set[Taken] = set()
        for taken in newest:
            for name in plain_names(model):
                found = choose([Slate("n", 0, model, taken)], name, uniform(model))
                if found is not None:
                    following.add(ordered((*taken, found[1])))
            following |= {tuple(one for one in taken if one != gone) for gone in taken}
        newest = following - reached
        reached |= newest
    assert reached == legal
    assert len(legal) == {7: 723, 4: 26}[shape.compute_slices]


@cache
def _enumerated(model: str) -> set[Taken]:
    """All sets of disjoint intervals at documented starts, apart from the product's own rules."""
    slots = [Placement(one.name, start, one.size) for one in plain(model) for start in one.starts]
    layouts: set[Taken] = set()

    def grow(first: int, cells: int, there: Taken) -> None:
        layouts.add(ordered(there))
        for index in range(first, len(slots)):
            mask = ((1 << slots[index].size) - 1) << slots[index].start
            if not cells & mask:
                grow(index + 1, cells | mask, (*there, slots[index]))

    grow(0, 0, ())
    return layouts


requests = st.lists(st.tuples(st.sampled_from(plain_names(H200)), st.integers(0, 9)), max_size=30)


@given(requests=requests, count=st.integers(1, 3), whole=st.integers(0, 2))
def test_any_load_keeps_layouts_legal_and_gpus_whole(
    requests: list[tuple[str, int]], count: int, whole: int
) -> None:
    slates = [gpu(index) for index in range(count)]
    legal = _enumerated(H200)
    for profile, ending in requests:
        found = choose(slates, profile, uniform(H200), whole=whole)
        if found is None:
            possible = [s for s in slates if room(H200, s.taken)[profile]]
            bare = sum(not s.taken for s in slates)
            assert all(not s.taken and bare <= whole for s in possible)
            # Somebody ends, so that the next one may find room.
            full = slates[ending % count]
            slates[ending % count] = gpu(full.gpu, *full.taken[1:])
            continue
        slate, one = found
        slates[slate.gpu] = gpu(slate.gpu, *slate.taken, one)
        assert slates[slate.gpu].taken in legal
        assert sum(not s.taken for s in slates) >= min(whole, count)
