"""The difference between two policy texts, in the words that people wrote into them.

It compares what the files say, not what they mean: comments and order do not count.
"""

from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ...i18n import _

MOST_LINES = 200
"""Lines of a difference that is recorded; the whole text is beside it anyway."""


def difference(old: str | None, new: str) -> tuple[str, ...]:
    """Tell line by line what changed: `teams.vision.quota.main.nominal: 2 -> 3`."""
    if old is None:
        return (_("first policy"),)
    before, after = dict(_flat(_data(old))), dict(_flat(_data(new)))
    lines = [
        _("{path}: {old} -> {new}").format(
            path=path, old=before.get(path, _("absent")), new=after.get(path, _("absent"))
        )
        for path in dict.fromkeys((*before, *after))
        if before.get(path) != after.get(path)
    ]
    if not lines:
        return (_("comments or order only"),)
    if len(lines) > MOST_LINES:
        rest = len(lines) - MOST_LINES
        return (*lines[:MOST_LINES], _("and {n} more lines").format(n=rest))
    return tuple(lines)


def _data(text: str) -> object:
    try:
        data: object = YAML(typ="safe", pure=True).load(text)
    except YAMLError:
        return None
    return data


def _flat(data: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(data, dict) and data:
        for name, value in data.items():
            yield from _flat(value, f"{path}.{name}" if path else str(name))
    elif isinstance(data, list) and any(isinstance(one, dict | list) for one in data):
        for index, value in enumerate(data):
            yield from _flat(value, f"{path}[{_label(value, index)}]")
    elif isinstance(data, list):
        yield path, "[" + ", ".join(str(one) for one in data) + "]"
    else:
        yield path, str(data)


def _label(value: object, index: int) -> str:
    """Name an entry of a list by its own name where it has one, so that a shift is no change."""
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return str(value["name"])
    return str(index)
