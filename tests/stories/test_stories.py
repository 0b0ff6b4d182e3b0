"""Every story of this folder's YAML files, by its name."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stories.telling import Story

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


def stories() -> list[Any]:
    """All stories, each with its file and title as its name."""
    return [
        pytest.param(told, id=f"{file.stem}: {told['story']}")
        for file in FILES
        for told in yaml.safe_load(file.read_text("utf-8"))
    ]


@pytest.mark.parametrize("told", stories())
def test_it_goes_as_told(told: dict[str, Any]) -> None:
    Story(told).tell()


def test_a_story_that_expects_something_else_fails_with_its_step() -> None:
    told = {
        "story": "nobody is there",
        "teams": {"a": {"nominal": "1"}},
        "gpus": 1,
        "steps": [
            {"asks": "ann", "team": "a", "wants": "one", "then": "guaranteed"},
            {"calls": ["ann"]},
        ],
    }
    with pytest.raises(AssertionError, match="step 2"):
        Story(told).tell()
