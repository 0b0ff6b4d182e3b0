"""The policy's shape as a JSON schema, for editors that complete and underline as one types.

Made from the model alone, so it cannot say more than the loader accepts.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from ..units import duration_text
from .model import Policy

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SPANS = TypeAdapter(timedelta)


@cache
def schema() -> dict[str, Any]:
    """Describe the policy file. Do not change what is returned; it is shared."""
    made = Policy.model_json_schema(by_alias=True)
    for part in _parts(made):
        part.pop("title", None)
        default = part.get("default")
        # pydantic writes a default duration as ISO 8601, which the policy does not read.
        if isinstance(default, str) and default.startswith("P") and "examples" in part:
            part["default"] = duration_text(_SPANS.validate_python(default))
        if isinstance(default, dict):
            del part["default"]
    return {"$schema": DIALECT, "title": "GPU Commons policy", **made}


def _parts(shape: object) -> Iterator[dict[str, Any]]:
    """Every schema within a schema; a property may itself be called `title` or `default`."""
    if not isinstance(shape, dict):
        return
    yield shape
    for name in ("$defs", "properties", "patternProperties"):
        for inner in shape.get(name, {}).values():
            yield from _parts(inner)
    for name in ("anyOf", "oneOf", "allOf"):
        for inner in shape.get(name, ()):
            yield from _parts(inner)
    for name in ("items", "additionalProperties"):
        yield from _parts(shape.get(name))


def schema_text() -> str:
    """Write the schema as it lies in `config/policy.schema.json`."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
