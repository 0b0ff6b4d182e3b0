"""What pydantic says of a policy's data, in our words: path, message, remedy.

Knows the shape of the policy through its JSON schema; knows nothing of lines and columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..i18n import _
from .problems import Path, nearest, path_text, printable, quoted
from .schema import schema


class Fault(NamedTuple):
    """One fault of the data. `at_key`: it is about the name or the whole, not the value.

    `shown` is the path to print: it may end in a field that is missing, so has no place.
    """

    path: Path
    shown: str
    at_key: bool
    message: str
    remedy: str


def faults(error: ValidationError, data: object) -> tuple[Fault, ...]:
    """Translate all errors of a validation; what only follows from another is left out."""
    details = error.errors(include_url=False)
    return tuple(
        _fault(one, *_value_at(data, one["loc"])) for one in details if not _follows(one, data)
    )


def _follows(one: ErrorDetails, data: object) -> bool:
    """Whether a list is called too short only because its items were refused one by one."""
    if one["type"] != "too_short":
        return False
    _path, value, _rest = _value_at(data, one["loc"])
    limit = one.get("ctx", {}).get("min_length", 0)
    return isinstance(value, (list, dict)) and len(value) >= limit


def _value_at(data: object, loc: Sequence[int | str]) -> tuple[Path, object, tuple[int | str, ...]]:
    """Follow a location through the data: path, value there, and what of it led nowhere.

    pydantic puts the tags of unions between the steps; ours are in angle brackets.
    """
    path: list[int | str] = []
    rest: list[int | str] = []
    value: Any = data
    for step in loc:
        inside = (isinstance(value, dict) and step in value) or (
            isinstance(value, list) and isinstance(step, int)
        )
        if inside and not rest:
            path.append(step)
            value = value[step]
        elif not str(step).startswith("<"):
            rest.append(step)
    return tuple(path), value, tuple(rest)


def _fault(one: ErrorDetails, path: Path, value: object, rest: Path) -> Fault:
    name = str((path + rest)[-1]) if path or rest else ""
    if rest[-1:] == ("[key]",):
        name = str(path[-1])
        return _of_key(path, path, *_bad_name(name))
    if one["type"] == "missing":
        return _of_key(path, (*path, name), _("the field is missing"), _add(path, name))
    if one["type"] == "extra_forbidden":
        message = _("there is no field {name} here").format(name=quoted(name))
        return _of_key(path, path, message, nearest(name, fields_at(path[:-1])))
    message, remedy = _words(one, path, value)
    return Fault(
        path, path_text(path), at_key=False, message=printable(message, 300), remedy=remedy
    )


def _of_key(path: Path, shown: Path, message: str, remedy: str) -> Fault:
    return Fault(path, path_text(shown), at_key=True, message=message, remedy=remedy)


def _bad_name(name: str) -> tuple[str, str]:
    return (
        _("{name} is no name").format(name=quoted(name)),
        _("use small letters, digits, dots and hyphens, at most 63, a letter or digit outside"),
    )


def _add(path: Path, name: str) -> str:
    described = next((one for one in _described(path, name) if one), "")
    if described:
        return _("add {name}: {what}").format(name=quoted(name), what=described)
    return _("add {name}").format(name=quoted(name))


def _words(one: ErrorDetails, path: Path, value: object) -> tuple[str, str]:
    """Message and remedy for a value that cannot stand where it stands."""
    kind, context = one["type"], one.get("ctx", {})
    if value is None:
        return _("the value is empty"), _("give it one, or take the line away")
    if kind == "literal_error":
        allowed = allowed_at(path)
        return (
            _("{value} is none of the words for this").format(value=quoted(value)),
            nearest(str(value), allowed),
        )
    said = str(context["error"]) if kind == "value_error" else one["msg"]
    if kind == "string_type" or said.startswith("this is no text"):
        return _no_text(value)
    if kind == "string_pattern_mismatch":
        return _no_such_form(path, value)
    if kind in _FORMS:
        message, remedy = _FORMS[kind]
        return message.format(value=quoted(value)), remedy.format(**context)
    message, _sep, remedy = said.partition("; ")
    return message, remedy


_NAMES_WANTED = (_("names and values are wanted here"), _("write lines like `name: value`"))
_FORMS: Mapping[str, tuple[str, str]] = {
    "int_type": (_("{value} is no whole number"), _("write digits, without quotes or a point")),
    "bool_type": (_("{value} is neither true nor false"), _("write true or false")),
    "model_type": _NAMES_WANTED,
    "model_attributes_type": _NAMES_WANTED,
    "dict_type": _NAMES_WANTED,
    "tuple_type": (
        _("a list is wanted here"),
        _("write [a, b], or lines that begin with a hyphen"),
    ),
    "too_short": (_("at least one entry is wanted here"), _("add one")),
    "greater_than_equal": (_("{value} is too small"), _("write at least {ge}")),
    "less_than_equal": (_("{value} is too large"), _("write at most {le}")),
    "string_too_long": (_("the text is too long"), _("write at most {max_length} characters")),
    "string_too_short": (_("the text is empty"), _("write something")),
}
"""Message and remedy by pydantic's name of the error."""


def _no_text(value: object) -> tuple[str, str]:
    if isinstance(value, (dict, list)):
        return _("text is wanted here"), _("write one value")
    kind = _("truth value") if isinstance(value, bool) else _("number")
    return _("text is wanted, not a {kind}").format(kind=kind), _("put it in quotes")


def _no_such_form(path: Path, value: object) -> tuple[str, str]:
    match path[-1]:
        case "digest":
            message = _("{value} is no digest")
            remedy = _(
                "write sha256: and 64 hexadecimal digits; `gpu-commons env digest PREFIX` prints it"
            )
        case "cpu":
            message = _("{value} is no number of cores")
            remedy = _("write for example '4' or '0.5'")
        case "currency":
            message, remedy = _("{value} is no currency"), _("write a code, for example EUR")
        case _:
            return _bad_name(str(value))
    return message.format(value=quoted(value)), remedy


def _shapes(path: Path) -> list[Mapping[str, Any]]:
    """All schemas that a path may have; several where the policy leaves a choice."""
    shapes: list[Mapping[str, Any]] = [schema()]
    for step in path:
        shapes = [inner for one in shapes for flat in _flat(one) for inner in _step(flat, step)]
    return [flat for one in shapes for flat in _flat(one)]


def _flat(shape: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in shape:
        yield from _flat(schema()["$defs"][shape["$ref"].rsplit("/", 1)[-1]])
        return
    yield shape
    for word in ("anyOf", "oneOf", "allOf"):
        for one in shape.get(word, ()):
            yield from _flat(one)


def _step(shape: Mapping[str, Any], step: int | str) -> Iterator[Mapping[str, Any]]:
    if isinstance(step, int):
        if isinstance(shape.get("items"), dict):
            yield shape["items"]
        return
    if step in shape.get("properties", {}):
        yield shape["properties"][step]
        return
    yield from shape.get("patternProperties", {}).values()
    if isinstance(shape.get("additionalProperties"), dict):
        yield shape["additionalProperties"]


def fields_at(path: Path) -> list[str]:
    """Names of the fields that the policy has at a path."""
    return list(dict.fromkeys(name for one in _shapes(path) for name in one.get("properties", {})))


def allowed_at(path: Path) -> list[str]:
    """Words that may stand at a path, where only certain words may."""
    return [
        str(word)
        for one in _shapes(path)
        for word in (*one.get("enum", ()), *([one["const"]] if "const" in one else ()))
    ]


def _described(path: Path, name: str) -> Iterator[str]:
    for one in _shapes(path):
        text = one.get("properties", {}).get(name, {}).get("description", "")
        yield text.split("\n")[0].rstrip(".")
