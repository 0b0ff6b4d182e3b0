"""The documentation builds without a warning, and the commands in it are true."""

import argparse
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from hub_ext.cli import COMMANDS
from hub_ext.ledger.fold import LEASE_KINDS
from tests.support.reference_pages import PAGES as MADE
from tests.support.spoken import empty_states, event_kinds, spoken

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?:sh|console)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
READ_ONLY = {"check", "schema"}
"""Subcommands that a test may run as they stand."""


def commands(program: str) -> list[str]:
    return sorted(
        {
            line.strip()
            for page in PAGES
            if "_build" not in page.parts
            for block in BLOCK.findall(page.read_text())
            for line in block.splitlines()
            if line.strip().split(" ")[0] == program
        }
    )


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--fail-on-warning", "-q", "-b", "html", "docs", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("line", commands("make"))
def test_every_make_target_exists(line: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = [word for word in shlex.split(line, comments=True)[1:] if "=" not in word]
    assert [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize("line", commands("gpu-commons"))
def test_every_command_is_understood(line: str) -> None:
    _program, name, *words = shlex.split(line, comments=True)
    assert name in COMMANDS
    parser = argparse.ArgumentParser(exit_on_error=False)
    import_module(f"hub_ext.commands.{name}").add_arguments(parser)
    parser.parse_args(words)
    if name in READ_ONLY:
        done = subprocess.run(
            [sys.executable, "-m", "hub_ext", name, *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_names_the_two_front_doors() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


@pytest.mark.parametrize("page", sorted(MADE))
def test_pages_made_from_the_code_are_current(page: str) -> None:
    assert (ROOT / page).read_text("utf-8") == MADE[page](), "run `make reference`"


def test_words_are_found_where_answers_are_made() -> None:
    codes = {one.code for one in spoken(ROOT)}
    assert {"over-guarantee", "hub-unreachable", "budget-spent", "no-such-team"} <= codes
    assert len(codes) > 150
    assert all(states for states in empty_states(ROOT).values())


def test_every_kind_of_event_is_explained() -> None:
    said = set(re.findall(r"`([a-z]+\.[a-z_]+)`", (ROOT / "docs/reference/events.md").read_text()))
    assert said == event_kinds(ROOT) | LEASE_KINDS


def test_the_architecture_page_has_the_layers_that_are_enforced_and_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    whole, service = (one["layers"] for one in project["tool"]["importlinter"]["contracts"][:2])
    there = [" | ".join(re.findall(r"(?<![(\w])\w+", line)) for line in whole]
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    assert "\n".join(there) in page
    assert "\n".join(service) in page
    told = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\*\*.*?\*\*", page, re.MULTILINE))))
    packages = {p.parent.name for p in (ROOT / "hub_ext").glob("*/__init__.py")}
    assert packages | {"spawner", "labextension"} <= told
