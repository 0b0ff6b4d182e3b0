"""The pages of reference are what the code says today."""

import json
from pathlib import Path

import pytest

from hub_ext.service.reference import page

DOCS = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("name", ["settings", "api"])
def test_the_kept_page_is_current(name: str) -> None:
    kept = (DOCS / f"governor-{name}.md").read_text("utf-8")
    remedy = f"gpu-commons governor --print {name} > docs/reference/governor-{name}.md"
    assert kept == page(name), f"run `{remedy}`"


def test_the_apis_shape_is_printed_as_it_is_served() -> None:
    assert json.loads(page("openapi"))["openapi"] == "3.1.0"
