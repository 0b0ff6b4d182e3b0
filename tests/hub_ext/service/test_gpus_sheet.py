"""The drawing of GPUs on the admin's page: bars that fill the GPU, and the same in words."""

from hub_ext.lease import LeaseId, PoolMap, PoolName
from hub_ext.mig.geometry import declared_devices
from hub_ext.mig.mapping import gpu_maps
from hub_ext.policy.model import Node, Pool
from hub_ext.service.sheets.gpus import WIDTH, GpuRow, drawing


def pool_of(model: str, *cuts: tuple[str, ...]) -> PoolMap:
    """One machine; its first device is held, its last out of service."""
    there = declared_devices(
        "p", Pool(model=model, nodes=(Node(name="n", gpus=len(cuts) or 1, geometry=cuts),))
    )
    maps = gpu_maps(
        there, held={there[0].id: LeaseId("l-1")}, serving={one.id for one in there[:-1]}
    )
    return PoolMap(
        pool=PoolName("p"),
        model=model,
        fragmentation_percent=25,
        asked={"3g.71gb": 1, "1g.18gb": 4},
        gpus=maps,
    )


def rows(model: str, *cuts: tuple[str, ...]) -> tuple[GpuRow, ...]:
    return drawing(pool_of(model, *cuts)).gpus


def test_bars_fill_the_gpu_from_end_to_end_without_a_gap() -> None:
    for row in rows("h200-141gb", ("1g.18gb",) * 7, ("3g.71gb", "1g.18gb")):
        ends = [bar.x + bar.width for bar in row.bars]
        assert [bar.x for bar in row.bars] == [0, *ends[:-1]]
        assert ends[-1] == WIDTH


def test_whoever_cannot_see_the_bars_reads_the_same() -> None:
    first, second = rows("h200-141gb", ("1g.18gb",) * 7, ("3g.71gb", "1g.18gb"))
    assert first.place == "n, GPU 0"
    assert first.words == "1 x 1g.18gb held, 6 x 1g.18gb free, a hole of 1 of 8"
    assert (first.largest, first.recut) == ("1g.18gb", "3g.71gb")
    assert second.words == "1 x 3g.71gb free, 1 x 1g.18gb out of service, a hole of 3 of 8"


def test_a_part_bears_the_longest_name_that_it_has_room_for() -> None:
    (row,) = rows("h200-141gb", ("1g.18gb", "3g.71gb"))
    assert [bar.label for bar in row.bars] == ["3g.71gb", "1g", ""]
    assert [bar.title for bar in row.bars] == ["3g.71gb, held", "1g.18gb, out of service", "hole"]


def test_a_whole_gpu_and_one_that_cannot_be_cut_are_one_bar() -> None:
    (row,) = rows("l40s")
    assert [(bar.label, bar.state_key) for bar in row.bars] == [("whole GPU", "held")]
    assert (row.largest, row.recut) == ("nothing", "")


def test_the_pool_says_what_is_asked_of_it_and_what_is_of_no_use() -> None:
    drawn = drawing(pool_of("h200-141gb", ("1g.18gb",)))
    assert drawn.fragmentation == "25 % of what is free cannot be used by a typical request."
    assert drawn.asked == "4 x 1g.18gb, 1 x 3g.71gb"
