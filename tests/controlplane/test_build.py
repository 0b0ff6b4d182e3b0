"""What is built, when, and what is said where it cannot be; no compiler runs here."""

import re
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.controlplane.fixtures import required
from tests.controlplane.programs import MODULES, PROGRAMS, SMOKE, Module, NotBuiltError, Shop
from tests.controlplane.programs import toolchain as go_of_the_machine
from tests.controlplane.programs.changed_kueue import FIXED, VARIABLE, write_changed_kueue
from tests.controlplane.programs.toolchain import BuildFailedError, NoGoError, find_go

COMPILER = """#!/bin/sh
if [ "$1" = env ]; then echo {version}; exit; fi
echo "some/package" >&2
{act}
"""
WRITES = 'while [ "$1" != -o ]; do shift; done; echo program > "$2"'


def fake_go(folder: Path, monkeypatch: pytest.MonkeyPatch, *, version: str, act: str = "") -> None:
    """Put a Go of that version first on the path, in which compiling is one shell command."""
    compiler = folder / "go"
    compiler.write_text(COMPILER.format(version=version, act=act))
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.fixture
def no_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(go_of_the_machine, "USUAL_PLACE", str(tmp_path / "go"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_recipe_and_the_pinned_modules_agree(module: Module) -> None:
    pinned = (module.folder / "go.mod").read_text()
    for package in module.programs.values():
        assert re.search(rf"^\t?(tool )?{re.escape(package)}$", pinned, re.MULTILINE)
    assert f" v{module.version}" in pinned
    assert (module.folder / "go.sum").stat().st_size > 0
    if module.name == "kubernetes":
        staged = re.findall(r"^\t?(?:replace )?(\S+) => \1 v0\.(\S+)$", pinned, re.MULTILINE)
        assert len(staged) == 33
        assert {version for _, version in staged} == {module.version.removeprefix("1.")}


def test_without_go_the_reason_and_the_remedy_are_named(
    no_go: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "Shop", lambda: Shop(tmp_path / "shop"))
    assert build.main(["etcd"]) == 1
    assert "There is no Go on this machine. Install Go 1.26" in capsys.readouterr().err
    assert build.main(["--if-possible", "smoke"]) == 0


def test_a_go_that_is_too_old_is_refused_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_go(tmp_path, monkeypatch, version="go1.24.4")
    with pytest.raises(NoGoError, match=r"is go1\.24\.4, which is too old"):
        find_go()
    fake_go(tmp_path, monkeypatch, version="go1.27.1")
    assert find_go() == str(tmp_path / "go")


def test_a_program_is_built_once_and_again_when_its_origin_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_go(tmp_path, monkeypatch, version="go1.26.8", act=WRITES)
    shop, said = Shop(tmp_path / "shop"), list[str]()
    with pytest.raises(NotBuiltError, match=r"not built yet: etcd \(`make test-kube` builds"):
        shop.require(["etcd"])
    shop.build(["etcd"], said.append)
    shop.require(["etcd"])
    assert shop.path("etcd").read_text() == "program\n"
    assert "Building etcd (etcd 3.6.16): up to 1 min" in said[0]

    said.clear()
    shop.build(["etcd"], said.append)
    assert said == []
    monkeypatch.setattr(Module, "stamp", lambda module: "of another go.sum")
    assert shop.missing(["etcd"]) == ["etcd"]


def test_a_build_that_fails_leaves_no_program_and_says_what_the_compiler_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_go(tmp_path, monkeypatch, version="go1.26.8", act="echo no room left >&2; exit 1")
    shop = Shop(tmp_path / "shop")
    with pytest.raises(BuildFailedError, match=r"etcd was not built:\n(.*\n)*no room left"):
        shop.build(["etcd"], lambda words: None)
    assert shop.missing(SMOKE) == list(SMOKE)


def test_the_one_changed_line_of_kueue_is_looked_for(tmp_path: Path) -> None:
    main = tmp_path / "cmd" / "kueue" / "main.go"
    main.parent.mkdir(parents=True)
    main.write_text(f"package main\n\t\t{FIXED}\n")
    (pins,) = [module.folder for module in MODULES if module.name == "kueue"]
    write_changed_kueue(tmp_path, pins, tmp_path / "changed")
    assert f'os.Getenv("{VARIABLE}")' in (tmp_path / "changed" / "main.go").read_text()
    main.write_text("package main\n")
    with pytest.raises(ValueError, match="look how it reads it now"):
        write_changed_kueue(tmp_path, pins, tmp_path / "changed")


@pytest.mark.parametrize(
    ("ci", "outcome", "words"),
    [("", pytest.skip.Exception, "make test-kube"), ("true", pytest.fail.Exception, "not built")],
)
def test_a_lacking_program_skips_here_and_fails_on_ci(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ci: str,
    outcome: type[BaseException],
    words: str,
) -> None:
    fake_go(tmp_path, monkeypatch, version="go1.26.8")
    monkeypatch.setattr("tests.controlplane.fixtures.Shop", lambda: Shop(tmp_path / "shop"))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=words):
        required("etcd")


def test_where_there_is_no_go_even_ci_skips(
    no_go: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.controlplane.fixtures.Shop", lambda: Shop(tmp_path / "shop"))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.skip.Exception, match="There is no Go on this machine"):
        required("etcd")


def test_an_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build.main(["kubelet"])
    assert "unknown: kubelet" in capsys.readouterr().err
    assert set(SMOKE) < set(PROGRAMS)
