"""A lease's control group is found by either driver, and is nobody else's."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from hub_ext.lease import LeaseId
from hub_ext.telemetry.cgroups import UNIFIED, Cgroups, Groups, places
from tests.support.cgroup_tree import CgroupTree

LEASE, OTHER = LeaseId("l-1"), LeaseId("l-2")
ONE, TWO = "a" * 64, "b" * 64
UID = "0a1b2c3d-1111-2222-3333-444455556666"
KUBE = {
    "systemd, containerd": "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
    f"{UID.replace('-', '_')}.slice/cri-containerd-{ONE}.scope",
    "systemd, CRI-O": f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/crio-{ONE}.scope",
    "cgroupfs": f"/kubepods/burstable/pod{UID}/{ONE}",
    "cgroupfs, systemd's names": f"/system.slice/kubepods-pod{UID}.slice:cri-containerd:{ONE}",
    "Docker alone": f"/system.slice/docker-{ONE}.scope",
}
Kind = Literal["v1", "v2", "hybrid"]
Make = Callable[[Kind], CgroupTree]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda kind: CgroupTree(tmp_path, kind)


def found(tree: CgroupTree, known: set[int], **leases: list[int]) -> dict[str, Groups]:
    """Look for the groups of leases l_1, l_2."""
    members = {LeaseId(name.replace("_", "-")): pids for name, pids in leases.items()}
    return {str(k): v for k, v in Cgroups(tree.root, tree.proc).of(members, known).items()}


def folder(tree: CgroupTree, group: str, name: str = "") -> Path:
    return tree.root / name / group.lstrip("/")


@pytest.mark.parametrize("driver", KUBE)
def test_a_container_is_found_by_the_names_of_each_driver(make: Make, driver: str) -> None:
    tree, group = make("v2"), KUBE[driver]
    tree.put(group, 10, 11)
    assert found(tree, {10, 11}, l_1=[10, 11])[LEASE].folders == {UNIFIED: folder(tree, group)}


def test_what_a_container_makes_inside_is_the_containers(make: Make) -> None:
    tree, group = make("v2"), KUBE["cgroupfs"]
    tree.put(group, 10)
    tree.put(f"{group}/init/{TWO}", 11)
    assert found(tree, {10, 11}, l_1=[11])[LEASE].folders == {UNIFIED: folder(tree, group)}


def test_a_probe_in_the_container_is_part_of_it_and_another_lease_is_not(make: Make) -> None:
    tree, group = make("v2"), KUBE["cgroupfs"]
    tree.put(group, 10, 99)
    assert found(tree, {10, 99}, l_1=[10])[LEASE].folders
    both = found(tree, {10, 99}, l_1=[10], l_2=[99])
    assert both[LEASE].folders == both[OTHER].folders == {}
    assert both[LEASE].reason == "its processes share a control group with others"


def test_two_containers_of_one_pod_count_as_the_pod(make: Make) -> None:
    tree = make("v2")
    above = f"/kubepods/burstable/pod{UID}"
    tree.put(above)
    tree.put(f"{above}/{ONE}", 10)
    tree.put(f"{above}/{TWO}", 11)
    assert found(tree, {10, 11}, l_1=[10, 11])[LEASE].folders == {UNIFIED: folder(tree, above)}


def test_a_local_servers_group_is_its_own_only_where_nobody_else_is_in_it(make: Make) -> None:
    tree, group = make("v2"), "/system.slice/hub.service/gpu-commons-a1"
    tree.put(group, 10)
    tree.put(f"{group}/deep", 11)
    assert found(tree, {10, 11}, l_1=[10, 11])[LEASE].folders == {UNIFIED: folder(tree, group)}
    assert not found(tree, {10, 11, 12}, l_1=[10])[LEASE].folders, "a stranger is below it"
    assert found(tree, {10}, l_1=[10])[LEASE].folders, "who was just born may be its own"


def test_the_hubs_group_and_the_whole_machine_say_nothing_of_one_server(make: Make) -> None:
    tree = make("v2")
    tree.put("/system.slice/hub.service", 1, 10)
    assert "share" in found(tree, {1, 10}, l_1=[10])[LEASE].reason
    tree.seen_at(10, "/")
    assert "no control group of its own" in found(tree, {1, 10}, l_1=[10])[LEASE].reason


def test_a_server_in_several_groups_is_counted_by_none(make: Make) -> None:
    tree = make("v2")
    tree.put("/user.slice/session-1.scope", 10)
    tree.put("/user.slice/run-7.scope", 11)
    assert "several" in found(tree, {10, 11}, l_1=[10, 11])[LEASE].reason


def test_each_controller_of_v1_has_a_tree_of_its_own(make: Make) -> None:
    tree, group = make("v1"), KUBE["cgroupfs"]
    tree.put(group, 10)
    names = ("cpu", "cpuacct", "memory", "blkio")
    assert found(tree, {10}, l_1=[10])[LEASE].folders == {
        name: folder(tree, group, name) for name in names
    }
    shutil.rmtree(tree.root / "blkio")
    assert set(found(tree, {10}, l_1=[10])[LEASE].folders) == {"cpu", "cpuacct", "memory"}


def test_a_hybrid_machine_has_both(make: Make) -> None:
    tree, group = make("hybrid"), KUBE["systemd, containerd"]
    tree.put(group, 10)
    assert set(found(tree, {10}, l_1=[10])[LEASE].folders) == {
        *("cpu", "cpuacct", "memory", "blkio", UNIFIED)
    }


def test_several_controllers_in_one_line_are_read() -> None:
    found_in = places("5:cpu,cpuacct:/a/b\n4:memory:/c d\n1:name=systemd:/e\n0::/f:g\n")
    assert {name: str(path) for name, path in found_in.items()} == {
        "cpu": "/a/b",
        "cpuacct": "/a/b",
        "memory": "/c d",
        UNIFIED: "/f:g",
    }


def test_inside_a_namespace_the_others_paths_are_found_from_our_own_place(make: Make) -> None:
    tree = make("v2")
    group = KUBE["systemd, containerd"]
    here = f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/{TWO}"
    tree.put(group, 10)
    tree.put(here, os.getpid())
    tree.seen_at(os.getpid(), "/")
    tree.seen_at(10, "/../../.." + group.removeprefix("/kubepods.slice"))
    assert found(tree, {10}, l_1=[10])[LEASE].folders == {UNIFIED: folder(tree, group)}


@pytest.mark.parametrize(
    "path", ["/../../../../../../up", "/a/../../b", "/gone", "gone", "/x (deleted)"]
)
def test_a_path_that_leads_nowhere_is_no_group(make: Make, path: str) -> None:
    tree = make("v2")
    tree.put("/a/b/c", os.getpid())
    tree.seen_at(os.getpid(), "/")
    tree.seen_at(10, path)
    groups = found(tree, {10}, l_1=[10])[LEASE]
    assert groups.folders == {}
    assert groups.reason


def test_what_vanishes_or_cannot_be_read_has_a_reason(make: Make, tmp_path: Path) -> None:
    tree = make("v2")
    tree.put("/a/b", 10)
    shutil.rmtree(tree.proc / "10")
    assert found(tree, {10}, l_1=[10])[LEASE].reason
    (tree.proc / "11").mkdir()
    (tree.proc / "11" / "cgroup").write_bytes(b"\xff\xfe rubbish \0\n0::/\xff\n::\n")
    assert found(tree, {11}, l_1=[11])[LEASE].folders == {}
    bare = Cgroups(tmp_path / "none", tree.proc).of({LEASE: [10]}, [10])
    assert bare[LEASE].reason == "this machine shows no control groups"
