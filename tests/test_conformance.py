"""The list of what passes of other people's suites: it only grows, and a loss is a failure."""

from pathlib import Path

import pytest

from tests.conformance.__main__ import HERE, Suite, compare
from tests.conformance.passes import short


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.setattr("tests.conformance.__main__.HERE", tmp_path)
    made = Suite("hub", "plugin", (), tmp_path)
    made.kept.write_text("test_a.py::test_one\ntest_a.py::test_two\n")
    return made


def test_a_loss_is_named_and_fails(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    assert not compare(suite, {"test_a.py::test_one"}, accept=False)
    assert "hub: passes no more: test_a.py::test_two" in capsys.readouterr().out


def test_what_is_new_is_kept_only_where_it_is_accepted(
    suite: Suite, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = {"test_a.py::test_one", "test_a.py::test_two", "test_a.py::test_three"}
    before = suite.kept.read_text()
    assert compare(suite, passed, accept=False)
    assert suite.kept.read_text() == before
    assert "1 new (`make conformance ACCEPT=1` keeps them)" in capsys.readouterr().out
    assert compare(suite, passed, accept=True)
    assert suite.kept.read_text().splitlines() == sorted(passed)


def test_accepting_never_forgets_what_is_lost(suite: Suite) -> None:
    assert not compare(suite, {"test_a.py::test_new"}, accept=True)
    assert "test_a.py::test_two" in suite.kept.read_text()


def test_names_are_the_same_on_every_machine() -> None:
    node = "::test_x[<function f at 0x7f00aa>-1]"
    assert short("../lib/tests/test_a.py", node) == "test_a.py::test_x[<function f>-1]"


@pytest.mark.parametrize("name", ["hub", "kubespawner"])
def test_the_lists_are_there_and_in_order(name: str) -> None:
    lines = (HERE / f"{name}.txt").read_text().splitlines()
    assert len(lines) > 50
    assert lines == sorted(set(lines))
