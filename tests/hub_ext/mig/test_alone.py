"""A GPU or machine that is had alone: never one that anything is taken of, and all of it."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Device
from hub_ext.mig.alone import Alone, beside, pick_alone
from hub_ext.mig.geometry import device_units
from tests.support.pools import all_devices, make_policy

POLICY = make_policy(
    {} | {"vision": {"groups": ["vision"], "quota": {"whole": {"nominal": "2"}}}},
    whole=5,
    cuts=(("3g.71gb", "3g.71gb"), ("1g.18gb", "1g.18gb", "3g.71gb"), ("1g.18gb",)),
)
EVERY = all_devices(POLICY)
WHOLE = tuple(one for one in EVERY if one.pool == "whole")
CUT = tuple(one for one in EVERY if one.pool == "cut")


def gpu(one: Device) -> tuple[str, int]:
    return one.node, one.gpu


def units(devices: tuple[Device, ...]) -> int:
    return sum(device_units(one) for one in devices)


def test_the_smallest_that_serves_is_taken() -> None:
    found = pick_alone(CUT, (), "gpu", gpus=0, mig_profile="1g.18gb")
    assert found is not None
    assert {one.gpu for one in (*found.devices, *found.rest)} == {2}
    machine = pick_alone(WHOLE, (), "node", gpus=1, mig_profile=None)
    assert machine is not None
    assert {one.node for one in (*machine.devices, *machine.rest)} == {"node-2"}
    assert pick_alone(WHOLE, (), "node", gpus=3, mig_profile=None, most_units=1680) is None


@given(
    st.sets(st.sampled_from(CUT)),
    st.sampled_from(("1g.18gb", "3g.71gb")),
    st.sampled_from(get_args(Alone)),
)
def test_nothing_of_it_is_anybodys_and_nothing_of_it_is_left_out(
    taken: set[Device], profile: str, alone: Alone
) -> None:
    place = gpu if alone == "gpu" else (lambda one: (one.node, -1))
    found = pick_alone(CUT, taken, alone, gpus=0, mig_profile=profile)
    busy = {place(one) for one in taken}
    serving = {place(one) for one in CUT if one.mig_profile == profile} - busy
    assert (found is None) == (not serving)
    if found is None:
        return
    every = (*found.devices, *found.rest)
    assert [one.mig_profile for one in found.devices] == [profile]
    (spot,) = {place(one) for one in every}
    assert spot not in busy
    assert set(every) == {one for one in CUT if place(one) == spot}
    smallest = min(units(tuple(x for x in CUT if place(x) == one)) for one in serving)
    assert units(every) == smallest
    assert beside(CUT, found.devices, alone) == {one.id for one in every}
