"""No name of a person or server reaches outside its own private folder."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.workspace import folder_name, make_workspace, server_folder, workspace_path

STATE = Path("/state")
NAMES = st.text(min_size=1, max_size=200)


@given(NAMES)
def test_a_name_becomes_one_harmless_component(name: str) -> None:
    folder = folder_name(name)
    assert folder
    assert "/" not in folder
    assert "." not in folder
    assert "\0" not in folder
    assert len(folder) <= 160
    assert folder.isascii()


@given(NAMES, NAMES)
def test_different_names_have_different_folders(one: str, other: str) -> None:
    assert (folder_name(one) == folder_name(other)) == (one == other)
    assert (server_folder(one) == server_folder(other)) == (one == other)
    assert server_folder(one) != server_folder("")


@pytest.mark.parametrize("name", ["..", ".", "../../etc", "/etc/passwd", "a/../b", "~root", "-"])
def test_tricky_names_stay_below_home(name: str) -> None:
    path = workspace_path(STATE, name, name)
    assert path.parent.parent == STATE / "home"
    assert path.resolve() == path


def test_a_server_called_default_is_not_the_one_without_a_name() -> None:
    assert workspace_path(STATE, "ada", "") == STATE / "home" / "ada" / "default"
    assert workspace_path(STATE, "ada", "default") == STATE / "home" / "ada" / "default_"


def test_a_workspace_is_private_and_keeps_its_files(tmp_path: Path) -> None:
    path = make_workspace(tmp_path, "ada", "")
    (path / "work.ipynb").write_text("{}")
    path.chmod(0o755)
    again = make_workspace(tmp_path, "ada", "")
    assert (again / "work.ipynb").exists()
    for folder in (again, again.parent, again.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["ada/two", "ada"])
def test_what_stands_in_a_workspaces_place_is_neither_followed_nor_made_private(
    tmp_path: Path, place: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    for target in (elsewhere, tmp_path / "nothing", None):
        state = tmp_path / f"state-{target and target.name}"
        there = state / "home" / place
        there.parent.mkdir(parents=True)
        if target is None:
            there.write_text("a file")
        else:
            there.symlink_to(target)
        with pytest.raises(OSError):  # noqa: PT011 - each place has its own error number
            make_workspace(state, "ada", "two")
        assert list(elsewhere.iterdir()) == []
        assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755
