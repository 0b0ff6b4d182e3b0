"""Changes one value in a policy's text and leaves the rest as people wrote it, comments included.

It edits text, not meaning: whoever calls it reads the result again and compares.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..errors import GpuCommonsError
from ..i18n import _
from .problems import path_text
from .source import read

Value = str | Mapping[str, "Value"]

_PLAIN_KEY = re.compile(r"^[a-z][a-z0-9_-]*$")


class _Cut(NamedTuple):
    """Text that takes the place of what stands between two positions."""

    start: int
    end: int
    text: str


def put(text: str, path: tuple[str, ...], value: Value) -> str:
    """Set the value at a path of keys, making the last ones where they are missing.

    Raises
    ------
    GpuCommonsError
        When the text cannot be changed so that everything else stays; then it is for a person.
    """
    before = read(text)
    if before.findings:
        raise _by_hand(path)
    wanted = _with(before.data, path, value)
    root = YAML(typ="safe", pure=True).compose(text)
    if not isinstance(root, MappingNode):
        raise _by_hand(path)
    after = _apply(text, _cuts(text, root, path, value))
    found = read(after)
    if found.findings or found.data != wanted:
        raise _by_hand(path)
    return after


def _with(data: Any, path: tuple[str, ...], value: Value) -> Any:  # noqa: ANN401 - YAML as it comes
    """Give the data as it must read afterwards."""
    if not path:
        return _plain(value)
    inner = dict(data) if isinstance(data, Mapping) else {}
    inner[path[0]] = _with(inner.get(path[0]), path[1:], value)
    return inner


def _plain(value: Value) -> object:
    if isinstance(value, str):
        return value
    return {name: _plain(inner) for name, inner in value.items()}


def _cuts(text: str, node: MappingNode, path: tuple[str, ...], value: Value) -> list[_Cut]:
    """Find what to change: walk down to the value, or to the mapping that lacks the next key."""
    for key, inner in node.value:
        if key.value != path[0]:
            continue
        if path[1:]:
            if not isinstance(inner, MappingNode):
                raise _by_hand(path)
            return _cuts(text, inner, path[1:], value)
        return _replaced(text, inner, value)
    for missing in reversed(path[1:]):
        value = {missing: value}
    return [_added(text, node, path[0], value)]


def _replaced(text: str, node: Node, value: Value) -> list[_Cut]:
    """Change a value; a block of lines keeps its lines, so that comments beside them stay."""
    if isinstance(node, ScalarNode) and node.value == value:
        return []
    if not isinstance(node, MappingNode) or node.flow_style or isinstance(value, str):
        start, end = node.start_mark.index, _content_end(node)
        _spare_comments(text[start:end])
        return [_Cut(start, end, _written(value))]
    cuts, there = [], set()
    for key, inner in node.value:
        there.add(key.value)
        if key.value in value:
            cuts += _replaced(text, inner, value[key.value])
        else:
            start = text.rfind("\n", 0, key.start_mark.index) + 1
            _spare_comments(text[start : _content_end(inner)])
            cuts.append(_Cut(start, _line_end(text, _content_end(inner)) + 1, ""))
    fresh = {name: inner for name, inner in value.items() if name not in there}
    cuts += [_added(text, node, name, inner) for name, inner in fresh.items()]
    return cuts


def _added(text: str, node: MappingNode, name: str, value: Value) -> _Cut:
    """Add a key behind the last one, in the style of the mapping."""
    entry = f"{_key(name)}: {_written(value)}"
    if node.flow_style:
        close = node.end_mark.index - 1
        inner = text[node.start_mark.index + 1 : close].rstrip()
        place = node.start_mark.index + 1 + len(inner)
        comma = "" if not inner or inner.endswith(",") else ","
        return _Cut(place, place, f"{comma}{' ' if inner else ''}{entry}")
    indent = " " * node.value[0][0].start_mark.column
    place = _line_end(text, _content_end(node))
    return _Cut(place, place, f"\n{indent}{entry}")


def _spare_comments(going: str) -> None:
    """Leave to a person what would take a comment along; `#` in a quoted text counts as one."""
    if any("#" in line for line in going.split("\n")[:-1]):
        raise GpuCommonsError(
            _("a comment stands in what would be written anew; edit this place by hand")
        )


def _content_end(node: Node) -> int:
    """Position behind what a value says; a block's own end lies behind comments that follow it."""
    if isinstance(node, MappingNode) and not node.flow_style and node.value:
        return _content_end(node.value[-1][1])
    if isinstance(node, SequenceNode) and not node.flow_style and node.value:
        return _content_end(node.value[-1])
    end: int = node.end_mark.index
    return end


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end


def _apply(text: str, cuts: list[_Cut]) -> str:
    # From the end on, so that positions in front stay right; of two at one place the later first.
    for cut in sorted(cuts, key=lambda one: one.start)[::-1]:
        text = text[: cut.start] + cut.text + text[cut.end :]
    return text


def _written(value: Value) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "{" + ", ".join(f"{_key(k)}: {_written(v)}" for k, v in value.items()) + "}"


def _key(name: str) -> str:
    return name if _PLAIN_KEY.match(name) else json.dumps(name, ensure_ascii=False)


def _by_hand(path: tuple[str, ...]) -> GpuCommonsError:
    return GpuCommonsError(
        _("{path} cannot be changed here without touching what stands around it; edit it").format(
            path=path_text(path)
        )
    )
