"""Each fault in the table has its story, and each fault that matters has its row."""

import ast
import re
from pathlib import Path

from tests.support.parsing import parsed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/when-something-dies.md"
MUST = (
    "`stop()` raises",
    "`poll()` raises at the hub's start",
    "the hub is killed inside `start()`",
    "`start()` takes too long",
    "the start is cancelled while it is pending",
    "the server exits at once",
    "the server never answers",
    "the governor is killed before it recorded an ask",
    "the governor is killed between a record and its effect",
    "the governor is killed after an effect, before its record",
    "the answer of a grant is lost",
    "an ask comes after its own report",
)


def rows() -> dict[str, str]:
    """Fault -> the story that tells it."""
    found = re.findall(r"^\| (.+?) \|.*\| `(tests/[^`]+)` \|$", PAGE.read_text(), re.MULTILINE)
    return dict(found)


def test_each_story_of_the_table_is_there() -> None:
    assert len(rows()) >= len(MUST)
    for fault, story in rows().items():
        file, _, name = story.partition("::")
        tree = parsed((ROOT / file).read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in names, f"{fault}: {story}"


def test_each_fault_has_its_row_and_its_own_story() -> None:
    assert set(MUST) <= set(rows())
    assert len(set(rows().values())) == len(rows())
    every = PAGE.read_text().split("|---|---|---|---|---|\n")[1].split("\n\n")[0]
    assert len(every.splitlines()) == len(rows()), "a row names no story"
