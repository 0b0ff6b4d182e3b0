"""The schema and the reference page in the repository are the ones that the model makes."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # a test tool without stubs
import pytest
from ruamel.yaml import YAML

from hub_ext.cli import main

ROOT = Path(__file__).parents[3]
POLICIES = [ROOT / "config/policy.yaml", *sorted((ROOT / "config/examples").glob("*.yaml"))]


def _printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["schema", *words]) == 0
    return capsys.readouterr().out


def test_the_schema_in_the_repository_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    kept = (ROOT / "config/policy.schema.json").read_text("utf-8")
    assert kept == _printed(capsys), "run `gpu-commons schema > config/policy.schema.json`"


def test_the_reference_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    kept = (ROOT / "docs/reference/policy.md").read_text("utf-8")
    made = _printed(capsys, "--as", "reference")
    assert kept == made, "run `gpu-commons schema --as reference > docs/reference/policy.md`"


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.name)
def test_every_policy_of_ours_fits_the_schema(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = json.loads(_printed(capsys))
    jsonschema.Draft202012Validator.check_schema(schema)
    data: Any = YAML(typ="safe").load(path)
    jsonschema.Draft202012Validator(schema).validate(_json(data))


def _json(data: Any) -> Any:
    match data:
        case dict():
            return {key: _json(value) for key, value in data.items()}
        case list():
            return [_json(value) for value in data]
        case date():
            return data.isoformat()
        case _:
            return data


def test_the_schema_refuses_a_field_that_does_not_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    schema = json.loads(_printed(capsys))
    data = _json(YAML(typ="safe").load(POLICIES[0]))
    data["teams"]["vision"]["nominal"] = "1"
    with pytest.raises(jsonschema.ValidationError, match="nominal"):
        jsonschema.Draft202012Validator(schema).validate(data)


def test_durations_in_the_schema_are_written_as_in_a_policy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    schema = json.loads(_printed(capsys))
    rule, keep = (schema["$defs"][name]["properties"] for name in ("IdleRule", "KeepTimes"))
    assert (rule["start_grace"]["default"], keep["each"]["default"]) == ("15m", "1h")
