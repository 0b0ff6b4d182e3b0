"""What a control group counts, of either version; what is missing stays unknown."""

import shutil
from pathlib import Path

import pytest

from hub_ext.telemetry.cgroups import UNIFIED
from hub_ext.telemetry.counters import Counters, Spent, between, read
from tests.support.cgroup_tree import QUIET, V1, CgroupTree

GIB = 1024**3
GROUP = "/g"
NOTHING = Spent(None, None, None, None, None, None, None, None, "")


@pytest.fixture
def new(tmp_path: Path) -> CgroupTree:
    tree = CgroupTree(tmp_path, "v2")
    tree.put(GROUP, 1)
    tree.write(GROUP, QUIET)
    return tree


@pytest.fixture
def old(tmp_path: Path) -> CgroupTree:
    tree = CgroupTree(tmp_path, "v1")
    tree.put(GROUP, 1)
    counted_by_v1(tree, nanoseconds=0, periods=100, throttled=0, moved=0, full=0)
    return tree


def counted_by_v1(
    tree: CgroupTree, *, nanoseconds: int, periods: int, throttled: int, moved: int, full: int
) -> None:
    tree.write(GROUP, {"cpuacct.usage": f"{nanoseconds}\n"}, tree="cpuacct")
    stat = f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time 9\n"
    tree.write(GROUP, {"cpu.stat": stat}, tree="cpu")
    memory = {
        "memory.usage_in_bytes": f"{3 * GIB}\n",
        "memory.limit_in_bytes": f"{4 * GIB}\n",
        "memory.failcnt": f"{full}\n",
        "memory.stat": f"cache 5\ninactive_file 1\ntotal_inactive_file {GIB}\n",
    }
    tree.write(GROUP, memory, tree="memory")
    rows = f"8:0 Read {moved}\n8:0 Write {moved}\n8:0 Sync 7\n8:0 Total {2 * moved}\nTotal 99\n"
    tree.write(GROUP, {"blkio.throttle.io_service_bytes_recursive": rows}, tree="blkio")


def of(tree: CgroupTree, block: Path = Path("/nonexistent")) -> Counters:
    names = V1 if tree.kind == "v1" else (UNIFIED,)
    folders = {name: tree.root / (name if tree.kind == "v1" else "") / "g" for name in names}
    return read(folders, block)


def test_ten_seconds_of_v2(new: CgroupTree) -> None:
    before = of(new)
    new.write(
        GROUP,
        {
            "cpu.stat": "usage_usec 25000000\nnr_periods 100\nnr_throttled 40\n",
            "memory.current": f"{5 * GIB}\n",
            "memory.max": f"{8 * GIB}\n",
            "memory.stat": f"anon 1\ninactive_file {GIB}\n",
            "memory.events": "low 0\nhigh 3\nmax 2\noom 1\n",
            "io.stat": "8:0 rbytes=1000 wbytes=500 rios=1 wios=1 dbytes=0\n259:0 rbytes=500\n",
            "cpu.pressure": "some avg10=1.0 total=6000000\nfull avg10=0.00 total=1\n",
            "io.pressure": "some avg10=1.0 total=2000000\n",
            "memory.pressure": "some avg10=1.0 total=500000\n",
        },
    )
    assert between(before, of(new), 10.0) == Spent(
        cpu_millis=2500,
        disk_bytes_s=200,
        memory_bytes=4 * GIB,
        memory_limit_bytes=8 * GIB,
        memory_full=5,
        cpu_stalled_percent=60,
        disk_stalled_percent=20,
        memory_stalled_percent=5,
        stalled_absent="",
    )


def test_ten_seconds_of_v1_which_measures_no_waiting_but_throttles(old: CgroupTree) -> None:
    before = of(old)
    counted_by_v1(old, nanoseconds=25 * 10**9, periods=200, throttled=30, moved=1000, full=4)
    assert between(before, of(old), 10.0) == Spent(
        cpu_millis=2500,
        disk_bytes_s=200,
        memory_bytes=2 * GIB,
        memory_limit_bytes=4 * GIB,
        memory_full=4,
        cpu_stalled_percent=30,
        disk_stalled_percent=None,
        memory_stalled_percent=None,
        stalled_absent="control groups of version 1 measure no waiting",
    )


def test_a_hybrid_machine_takes_waiting_from_v2_and_memory_from_v1(tmp_path: Path) -> None:
    tree = CgroupTree(tmp_path, "hybrid")
    tree.put(GROUP, 1)
    counted_by_v1(tree, nanoseconds=10**9, periods=0, throttled=0, moved=0, full=0)
    pressure = {"io.pressure": "some avg10=0 total=100\n", "cpu.stat": "usage_usec 1000000\n"}
    tree.write(GROUP, pressure, tree="unified")
    folders = {name: tree.root / name / "g" for name in (*V1, UNIFIED)}
    counted = read(folders, Path("/nonexistent"))
    assert counted.waited_us == {"io": 100}
    assert (counted.memory_limit_bytes, counted.disk_bytes) == (4 * GIB, 0)
    spent = between(counted, counted._replace(waited_us={"io": 5_000_100}), 10.0)
    assert (spent.disk_stalled_percent, spent.cpu_stalled_percent) == (50, None)


def test_no_limit_is_none_in_either_version(new: CgroupTree, tmp_path: Path) -> None:
    assert of(new).memory_limit_bytes is None
    (tmp_path / "old").mkdir()
    old = CgroupTree(tmp_path / "old", "v1")
    old.put(GROUP, 1)
    old.write(GROUP, {"memory.limit_in_bytes": "9223372036854771712\n"}, tree="memory")
    assert of(old).memory_limit_bytes is None


def test_without_a_limit_throttling_says_nothing_of_waiting(old: CgroupTree) -> None:
    counted_by_v1(old, nanoseconds=0, periods=0, throttled=0, moved=0, full=0)
    before = of(old)
    assert between(before, of(old), 10.0).cpu_stalled_percent is None
    assert between(before._replace(periods=5), before._replace(periods=5), 10.0) == between(
        before._replace(periods=5, throttled=0), before._replace(periods=5), 10.0
    )


def test_a_volume_made_of_disks_is_not_counted_beside_them(new: CgroupTree, tmp_path: Path) -> None:
    (tmp_path / "block" / "253:0" / "slaves" / "sda").mkdir(parents=True)
    (tmp_path / "block" / "8:0" / "slaves").mkdir(parents=True)
    new.write(GROUP, {"io.stat": "8:0 rbytes=100 wbytes=0\n253:0 rbytes=100 wbytes=0\n"})
    assert of(new, tmp_path / "block").disk_bytes == 100


@pytest.mark.parametrize("name", QUIET)
def test_a_file_that_vanished_leaves_its_own_figure_unknown(new: CgroupTree, name: str) -> None:
    whole = of(new)
    (new.root / "g" / name).unlink()
    left = of(new)
    changed = {field for field in Counters._fields if getattr(left, field) != getattr(whole, field)}
    expected = {
        "cpu.stat": {"cpu_us", "periods", "throttled"},
        "memory.current": {"memory_bytes"},
        "memory.events": {"memory_full"},
        "io.stat": {"disk_bytes"},
    }
    assert changed == expected.get(name, {"waited_us"} if "pressure" in name else set())


@pytest.mark.parametrize("text", ["", "rubbish\n", "some\n", "usage_usec -5\n", "\0\xff total=x\n"])
def test_rubbish_is_unknown_and_never_zero(new: CgroupTree, text: str) -> None:
    new.write(GROUP, dict.fromkeys(QUIET.keys() - {"io.stat"}, text))
    new.write(GROUP, {"io.stat": "8:0 rbytes=many\n"})
    spent = between(of(new), of(new), 10.0)
    assert spent == NOTHING._replace(
        stalled_absent="this kernel measures no waiting; `psi=1` on its command line lets it"
    )


def test_a_group_that_is_gone_tells_nothing(new: CgroupTree) -> None:
    before = of(new)
    shutil.rmtree(new.root / "g")
    assert between(before, of(new), 10.0)[:-1] == NOTHING[:-1]


def test_a_counter_that_fell_began_anew(new: CgroupTree) -> None:
    before = of(new)._replace(cpu_us=10, disk_bytes=10, memory_full=1, waited_us={"cpu": 5})
    spent = between(before, of(new), 10.0)
    assert (spent.cpu_millis, spent.disk_bytes_s, spent.memory_full) == (None, None, None)
    assert spent.cpu_stalled_percent is None
