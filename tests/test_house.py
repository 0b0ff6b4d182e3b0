"""The house holds its own rules, and each rule is shown to catch what it forbids."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support import house

FILES = house.sources()
LONG = '"""Doc."""\n' + "x = 1\n" * 401
LONG_FUNCTION = '"""Doc."""\ndef f():\n' + "    x = 1\n" * 60

PLANTED: list[tuple[Callable[[Mapping[str, str]], list[str]], str, str]] = [
    (house.size_faults, "hub_ext/a.py", LONG),
    (house.size_faults, "hub_ext/a.py", LONG_FUNCTION),
    (house.word_faults, "hub_ext/a.py", '"""Doc."""\nclass JobQueue: ...\n'),
    (house.word_faults, "spawner/a.py", '"""Doc."""\ndef stop_pods(): ...\n'),
    (house.word_faults, "hub_ext/a.py", '"""Doc."""\nclass A:\n    tenant: str\n'),
    (house.file_name_faults, "hub_ext/utils.py", ""),
    (house.file_name_faults, "hub_ext/common/a.py", ""),
    (house.import_faults, "hub_ext/service/a.py", "import sqlalchemy\n"),
    (house.import_faults, "hub_ext/telemetry/agent.py", "from pynvml import nvmlInit\n"),
    (house.import_faults, "hub_ext/a.py", "from hub_ext.lease import Grant\n"),
    (house.clock_faults, "hub_ext/idle/judging.py", "import time\ntime.time()\n"),
    (house.leftover_faults, "spawner/a.py", "# TODO later\n"),
    (house.leftover_faults, "tests/a.py", "x = Mock()\n"),
    (house.leftover_faults, "hub_ext/a.py", "raise NotImplementedError\n"),
    (house.leftover_faults, "docs/a.py", "P = '/root/x'\n"),
    (house.string_faults, "hub_ext/a.py", '"""Doc."""\n_(f"{n} free")\n'),
    (house.docstring_faults, "hub_ext/a.py", "x = 1\n"),
    (house.docstring_faults, "hub_ext/a.py", '"""' + "line\n" * 7 + '"""\n'),
]


@pytest.mark.parametrize("rule", house.RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps(rule: Callable[[Mapping[str, str]], list[str]]) -> None:
    assert rule(FILES) == []


@pytest.mark.parametrize(("rule", "name", "text"), PLANTED)
def test_a_planted_fault_is_caught(
    rule: Callable[[Mapping[str, str]], list[str]], name: str, text: str
) -> None:
    assert len(rule({name: text})) >= 1


def test_words_of_libraries_stay_free() -> None:
    text = '"""Doc."""\nimport notebook\nx = session.pod\n'
    assert house.word_faults({"hub_ext/a.py": text}) == []


def test_decision_records_fit_on_a_page() -> None:
    records = sorted((house.ROOT / "docs" / "decisions").glob("*.md"))
    assert records
    assert [r.name for r in records if r.read_text().count("\n") > house.DECISION_LINES] == []


@pytest.fixture
def copied_house(tmp_path: Path) -> Path:
    """Copy the packages and their rules, so that a fault can be planted without harm."""
    for package in house.PACKAGES:
        shutil.copytree(
            house.ROOT / package,
            tmp_path / package,
            ignore=shutil.ignore_patterns("node_modules", "assets", "src", "__pycache__", ".yarn"),
        )
    shutil.copy(house.ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _run(where: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=where,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("hub_ext/admission/decide.py", "import sqlalchemy"),
        ("hub_ext/units.py", "from . import lease"),
        ("hub_ext/idle/judging.py", "import time"),
        ("spawner/form.py", "import hub_ext.policy.model"),
        ("labextension/handlers.py", "import hub_ext.ledger"),
    ],
)
def test_a_planted_import_fails_the_import_contracts(
    copied_house: Path, place: str, line: str
) -> None:
    target = copied_house / place
    target.write_text(f"{target.read_text()}\n{line}\n")
    code = (
        "from importlinter.cli import lint_imports as lint; raise SystemExit(lint(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copied_house,
        env={"PYTHONPATH": str(copied_house), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "broken" in done.stdout.lower() + done.stderr.lower()


def test_planted_style_and_type_faults_fail(copied_house: Path) -> None:
    (copied_house / "hub_ext" / "planted.py").write_text(
        '"""Planted."""\n\n\ndef f(a: int) -> int:\n'
        '    """Return text."""\n    return "x"\n\n\nimport os\n'
    )
    style = _run(
        copied_house, "ruff", "check", "--isolated", "--select", "ALL", "hub_ext/planted.py"
    )
    assert style.returncode == 1
    assert "E402" in style.stdout
    types = _run(copied_house, "mypy", "--no-incremental", "hub_ext/planted.py")
    assert types.returncode == 1
    assert "return-value" in types.stdout
