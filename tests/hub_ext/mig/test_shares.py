"""Time-shares of a GPU: declared, found on a real GPU, packed, and drawn."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Device, DeviceId, Inventory, LeaseId, PoolName
from hub_ext.mig.geometry import declared_devices, device_units
from hub_ext.mig.mapping import gpu_maps
from hub_ext.mig.placement import count_free, pick, usable
from hub_ext.policy.model import Node, Pool
from hub_ext.policy.model.pools import SharedGpu

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
MIXED = Pool(
    model="l40s",
    nodes=(Node(name="a", gpus=3, geometry=(SharedGpu(share=4), "whole", SharedGpu(share=4))),),
)
DEVICES = declared_devices("p", MIXED)


def real(index: int) -> Device:
    """A GPU as its driver reports it."""
    name = DeviceId(f"GPU-{index}")
    return Device(id=name, pool=PoolName(""), node="a", gpu=index, model="NVIDIA L40S")


def found(*gpus: Device) -> list[Inventory]:
    return [Inventory(node="a", source="nvml", at=NOW, devices=gpus)]


def test_a_shared_gpu_is_declared_as_so_many_devices_of_an_equal_share_of_its_units() -> None:
    shares = [one for one in DEVICES if one.part == "share-4"]
    assert [(one.gpu, one.id[-3:]) for one in shares] == [
        (gpu, f"::{number}") for gpu in (0, 2) for number in range(4)
    ]
    assert {device_units(one) for one in shares} == {210}
    assert len({one.driver_id for one in shares}) == 2


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 8, 10, 12])
def test_all_shares_of_a_gpu_are_the_whole_gpu(count: int) -> None:
    shared = SharedGpu.model_validate({"share": count})
    pool = Pool(model="l40s", nodes=(Node(name="a", gpus=1, geometry=(shared,)),))
    assert sum(device_units(one) for one in declared_devices("p", pool)) == 840


def test_a_found_gpu_is_handed_out_in_shares_under_its_own_id() -> None:
    there, drift = usable(DEVICES, found(real(0), real(1), real(2)))
    assert drift == ()
    assert [one.id for one in there] == [
        *(f"GPU-0::{number}" for number in range(4)),
        "GPU-1",
        *(f"GPU-2::{number}" for number in range(4)),
    ]
    assert {one.driver_id for one in there} == {"GPU-0", "GPU-1", "GPU-2"}
    again, drift = usable(DEVICES, found(*DEVICES))
    assert again == DEVICES, "a simulated machine reports the shares themselves"
    assert drift == ()


def test_a_gpu_that_is_missing_or_cut_has_no_shares() -> None:
    there, drift = usable(DEVICES, found(real(1)))
    assert [one.id for one in there] == ["GPU-1"]
    assert len(drift) == 2


def test_shares_fill_one_gpu_before_they_open_another() -> None:
    held: frozenset[DeviceId] = frozenset()
    order = []
    while (chosen := pick(DEVICES, held, gpus=0, mig_profile="share-4")) is not None:
        held |= {chosen[0].id}
        order.append(chosen[0].gpu)
    assert order == [0, 0, 0, 0, 2, 2, 2, 2]
    assert pick(DEVICES, held, gpus=1, mig_profile=None) is not None
    assert pick(DEVICES, held, gpus=2, mig_profile=None) is None, "a shared GPU is never whole"


@given(held=st.sets(st.sampled_from([one.id for one in DEVICES])))
def test_counting_agrees_with_picking(held: set[DeviceId]) -> None:
    taken, served = frozenset(held), 0
    expected = count_free(DEVICES, taken, gpus=0, mig_profile="share-4")
    while (chosen := pick(DEVICES, taken, gpus=0, mig_profile="share-4")) is not None:
        taken |= {chosen[0].id}
        served += 1
    assert served == expected


def test_a_shared_gpu_is_drawn_as_so_many_equal_parts() -> None:
    held = {DEVICES[0].id: LeaseId("l-1")}
    drawn = gpu_maps(DEVICES, held=held, serving={one.id for one in DEVICES})[0]
    assert drawn.axis == 4
    assert [(part.start, part.size, part.state) for part in drawn.parts] == [
        (0, 1, "held"),
        (1, 1, "free"),
        (2, 1, "free"),
        (3, 1, "free"),
    ]
    assert (drawn.largest, drawn.recut) == ("share-4", None)
