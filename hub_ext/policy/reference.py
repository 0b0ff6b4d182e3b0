"""The reference page of the policy, from the docstrings of its fields.

One source for the page, the schema and the findings' remedies: `model.py`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .schema import schema

_HEAD = """\
# The policy file

<!-- Made from hub_ext/policy/model by `gpu-commons schema --as reference`. Do not edit. -->

Every field of the policy: what it means, its unit, its default and why. `gpu-commons check FILE`
judges a file by the same rules; `config/policy.schema.json` tells them to an editor. A field that
is not listed here does not exist, and a file that has it is refused by name.

Amounts of GPUs, money, time and memory are text in quotes where YAML would read a number: GPUs
`"2"`, `"0.5"`, `"1/7"`; money `"4.20"`; time `20s`, `15m`, `4h`, `7d`, `1h30m`; memory `16GiB`.
"""


_ABBREVIATIONS = {"gpu": "GPU", "mig": "MIG"}


def reference_text() -> str:
    """Write the page in MyST."""
    made = schema()
    parts = [_HEAD, _section("policy", made)]
    parts.extend(_section(_anchor(name), made["$defs"][name]) for name in _in_order(made))
    return "\n".join(parts)


def _in_order(made: Mapping[str, Any]) -> list[str]:
    """Parts in the order in which a reader meets them."""
    order: list[str] = []

    def meet(shape: Mapping[str, Any]) -> None:
        for name in _refs(shape):
            if name not in order:
                order.append(name)
                meet(made["$defs"][name])

    meet({"properties": made["properties"]})
    return order


def _refs(shape: object) -> Iterator[str]:
    if isinstance(shape, dict):
        if "$ref" in shape:
            yield shape["$ref"].rsplit("/", 1)[-1]
        for inner in shape.values():
            yield from _refs(inner)
    elif isinstance(shape, list):
        for inner in shape:
            yield from _refs(inner)


def _anchor(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


def _section(anchor: str, shape: Mapping[str, Any]) -> str:
    required = set(shape.get("required", ()))
    lines = [
        f"(policy-{anchor})=",
        f"## {_words(anchor)}",
        "",
        str(shape.get("description", "")),
        "",
    ]
    for name, field in shape.get("properties", {}).items():
        need = "required" if name in required else f"default {_default(field)}"
        lines += [f"`{name}` ({_form(field)}; {need})", f": {_meaning(field)}", ""]
    return "\n".join(lines)


def _words(anchor: str) -> str:
    words = anchor.replace("-", " ")
    first, _space, rest = words.partition(" ")
    return " ".join([_ABBREVIATIONS.get(first, first.capitalize()), rest]).rstrip()


def _meaning(field: Mapping[str, Any]) -> str:
    # Paragraphs of a definition are indented below its colon.
    text = str(field.get("description", ""))
    return text.replace("\n", "\n  ").replace("\n  \n", "\n\n")


def _default(field: Mapping[str, Any]) -> str:
    default = field.get("default")
    if "$ref" in field:
        return "each field's own"
    if default in (None, "", [], {}):
        return "none"
    return f"`{str(default).lower()}`" if isinstance(default, bool) else f"`{default}`"


def _form(field: Mapping[str, Any]) -> str:
    """Say in words what may stand there."""
    if "$ref" in field:
        anchor = _anchor(field["$ref"].rsplit("/", 1)[-1])
        return f"[{_words(anchor)}](#policy-{anchor})"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{word}`" for word in field.get("enum", [field.get("const")]))
    choices = field.get("anyOf", field.get("oneOf", ()))
    if choices:
        return " or ".join(_form(one) for one in choices if one.get("type") != "null")
    if field.get("type") == "array":
        return f"list of {_form(field['items'])}"
    if field.get("type") == "object":
        return _map(field)
    return _range(field) if field.get("type") == "integer" else _text(field)


def _map(field: Mapping[str, Any]) -> str:
    inner = next(iter(field.get("patternProperties", {}).values()), None)
    return f"map of names to {_form(inner or field['additionalProperties'])}"


def _text(field: Mapping[str, Any]) -> str:
    if "examples" in field:
        return f"such as `{field['examples'][-1]}`"
    return "`true` or `false`" if field.get("type") == "boolean" else "text"


def _range(field: Mapping[str, Any]) -> str:
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None and most is not None:
        return f"number from {least} to {most}"
    return "number" if least is None else f"number from {least}"
