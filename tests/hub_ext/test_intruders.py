import subprocess
import sys
from pathlib import Path

import pytest

from hub_ext.errors import IntruderError
from hub_ext.intruders import check, intruder

ROOT = Path(__file__).parents[2]


def test_our_own_packages_are_no_intruders() -> None:
    check()


@pytest.mark.parametrize(
    "path",
    ["spawner.py", "spawner/__init__.py"],
)
def test_a_foreign_spawner_in_the_working_directory_is_named_and_not_run(
    tmp_path: Path, path: str
) -> None:
    foreign = tmp_path / path
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("raise SystemExit('foreign code ran')\n")
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); import hub_ext.intruders as i\n"
        "print(i.intruder('spawner'))\n"
        "try: i.check()\n"
        "except i.IntruderError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done
    first, words = done.stdout.splitlines()
    assert first == str(foreign)
    assert str(foreign) in words
    assert "Rename or uninstall it" in words


def test_a_folder_without_init_is_an_intruder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strange").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert intruder("strange") == str(tmp_path / "strange")
    with pytest.raises(IntruderError, match="strange"):
        check("strange")


def test_a_foreign_module_that_is_loaded_already_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "earlier.py").write_text("__product__ = 'something else'\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("earlier")
    assert intruder("earlier") == str(tmp_path / "earlier.py")


@pytest.mark.parametrize("text", ["def broken(:\n", "__product__ = 1\n", "\x00", "x = '\\ud800'\n"])
def test_a_file_that_does_not_say_our_name_is_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "rubbish.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert intruder("rubbish") == str(tmp_path / "rubbish.py")


def test_what_is_not_there_is_no_intruder() -> None:
    assert intruder("no_such_name_anywhere") is None
