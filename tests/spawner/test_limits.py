"""Limits are set where a cgroup is delegated, and nowhere pretended.

The files are those of cgroup v2, laid out in an ordinary folder: a kernel that offers the
controllers is not at hand everywhere.
"""

from pathlib import Path

import pytest

from hub_ext.lease import AttemptId
from spawner.limits import Cgroup

ATTEMPT = AttemptId("attempt-1")


@pytest.fixture
def delegated(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("\n")
    return tmp_path


def test_a_delegated_group_is_usable_and_gets_its_controllers(delegated: Path) -> None:
    assert Cgroup(delegated).usable()
    assert (delegated / "cgroup.subtree_control").read_text() == "+cpu +memory"


def test_without_the_controllers_or_the_place_nothing_is_usable(
    delegated: Path, tmp_path: Path
) -> None:
    assert not Cgroup(tmp_path / "nowhere").usable()
    (delegated / "cgroup.controllers").write_text("io pids\n")
    assert not Cgroup(delegated).usable()


def test_a_server_gets_its_cores_and_memory(delegated: Path) -> None:
    group = Cgroup(delegated).make(ATTEMPT, 2500, 4 * 2**30)
    assert group.parent == delegated
    assert (group / "cpu.max").read_text() == "250000 100000"
    assert (group / "memory.max").read_text() == "4294967296"


def test_a_group_with_something_in_it_stays(delegated: Path) -> None:
    cgroup = Cgroup(delegated)
    group = cgroup.make(ATTEMPT, 1000, 2**30)
    cgroup.remove(ATTEMPT)
    assert group.exists()
    for file in group.iterdir():
        file.unlink()
    cgroup.remove(ATTEMPT)
    assert not group.exists()
