"""How GPUs are joined, as the driver tells it of pairs, and which of them are virtual."""

import pytest

from hub_ext.lease import Wired
from hub_ext.telemetry.guarded import GuardedNvml
from hub_ext.telemetry.nvml_topology import grouped
from tests.support.nvml import FakeDriver, until

SINGLE, HOST, SYSTEM = 10, 30, 50


def test_pairs_become_groups() -> None:
    levels = {(0, 1): SINGLE, (0, 2): HOST, (1, 2): HOST}
    levels |= dict.fromkeys([(0, 3), (1, 3), (2, 3)], SYSTEM)
    assert grouped([0, 1, 2, 3], levels, {(0, 1)}) == {
        0: Wired(nvlink=0, switch=0, bridge=0, socket=0),
        1: Wired(nvlink=0, switch=0, bridge=0, socket=0),
        2: Wired(switch=2, bridge=0, socket=0),
        3: Wired(switch=3, bridge=3, socket=3),
    }


def test_a_pair_of_which_the_driver_tells_nothing_is_not_known_to_be_apart() -> None:
    found = grouped([0, 1, 2], {(0, 1): SINGLE, (1, 2): SYSTEM}, set())
    assert [found[gpu].untold for gpu in range(3)] == [(2,), (), (0,)]
    assert found[0].switch == found[1].switch
    assert found[2].switch == 2


def test_two_that_are_joined_to_a_third_are_not_joined_to_each_other() -> None:
    levels = dict.fromkeys([(0, 1), (0, 2), (1, 2)], SYSTEM)
    found = grouped([0, 1, 2], levels, {(0, 1), (1, 2)})
    assert [found[gpu].nvlink for gpu in range(3)] == [0, 0, None]


@pytest.mark.parametrize("told", [True, False])
def test_the_agent_reports_what_the_driver_tells_and_nothing_where_it_does_not(
    driver: FakeDriver, reader: GuardedNvml, told: bool
) -> None:
    driver.world.topology_code = 0 if told else 3
    driver.wire(0, 1, SYSTEM)
    driver.wire(0, 2, SINGLE, nvlink=True)
    driver.wire(1, 2, SYSTEM)
    for _gpu in range(3):
        driver.add_gpu()
    seen = until(reader, lambda one: len(one.inventory.devices) == 3)
    first, other, third = (one.wired for one in seen.inventory.devices)
    if not told:
        assert (first, other, third) == (None, None, None)
        return
    assert first is not None
    assert first == third
    assert first.nvlink == 0
    assert other is not None
    assert other.nvlink is None


def test_a_part_of_a_gpu_from_a_hypervisor_is_told_from_a_whole_one(
    driver: FakeDriver, reader: GuardedNvml
) -> None:
    """Modes of NVML, one more than there: 0 is a driver that does not tell."""
    for told in (0, 1, 2, 3):
        driver.add_gpu().virtualised = told
    seen = until(
        reader,
        lambda one: [gpu.virtual for gpu in one.inventory.devices] == [None, False, False, True],
    )
    assert not seen.inventory.problem
