"""Reads KubeSpawner's `profile_list` out of a `jupyterhub_config.py` without running any of it.

A configuration may start processes, ask the cloud or need secrets. What is written out in it is
taken; what it would compute is not, and is told with its line.
"""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import GpuCommonsError
from ...i18n import _

_SECTIONS = frozenset({"KubeSpawner", "Spawner"})


@dataclass(frozen=True)
class Computed:
    """A value that only running the file would tell."""

    line: int


@dataclass(frozen=True)
class Listed:
    """Entries as they are written, and the lines of what could not be read."""

    entries: tuple[dict[str, Any], ...]
    computed: tuple[int, ...]


def listed(path: Path) -> Listed:
    """Read the entries of a configuration file.

    Raises
    ------
    GpuCommonsError
        When the file cannot be read or is no Python.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise GpuCommonsError(
            _("{path} cannot be read as Python: {error}").format(path=path, error=error)
        ) from error
    reader = _Reader()
    found: list[object] = []
    for node in tree.body:
        found = reader.follow(node, found)
    entries = tuple(one for one in found if isinstance(one, dict))
    lost = {one.line for one in found if isinstance(one, Computed)} | reader.lost
    return Listed(entries, tuple(sorted(lost)))


class _Reader:
    """Follows top-level assignments, as far as they are written out."""

    def __init__(self) -> None:
        self._names: dict[str, object] = {}
        self.lost: set[int] = set()

    def follow(self, node: ast.stmt, found: list[object]) -> list[object]:
        """Return the entries after one statement."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._names[name] = self.value(value)
            case ast.Assign(targets=[target], value=value) if _is_list(target):
                return self._entries(value)
            case ast.AugAssign(target=target, value=value) if _is_list(target):
                return [*found, *self._entries(value)]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=on, attr=verb), args=[one])) if (
                _is_list(on)
            ):
                return [*found, *([self.value(one)] if verb == "append" else self._entries(one))]
            case ast.stmt():
                inside = (one for one in ast.walk(node) if _is_list(one))
                self.lost.update(one.lineno for one in inside if isinstance(one, ast.expr))
        return found

    def _entries(self, node: ast.expr) -> list[object]:
        value = self.value(node)
        if isinstance(value, dict):
            # KubeSpawner takes a mapping by slug as well.
            return [
                {"slug": slug, **one} if isinstance(one, dict) else one
                for slug, one in value.items()
            ]
        return value if isinstance(value, list) else [Computed(node.lineno)]

    def value(self, node: ast.expr) -> object:
        """Value of an expression that is written out; `Computed` where it is not."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self._names:
                return self._names[name]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self.value(part) for part in parts]
            case ast.Dict(keys=keys, values=values):
                return {
                    str(self.value(key)): self.value(value)
                    for key, value in zip(keys, values, strict=True)
                    if key is not None
                }
            case _:
                return self._made(node)

    def _made(self, node: ast.expr) -> object:
        """Value of what is put together of written parts."""
        match node:
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=given):
                return {str(one.arg): self.value(one.value) for one in given if one.arg}
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._sum(node, self.value(left), self.value(right))
            case _:
                return Computed(node.lineno)

    def _sum(self, node: ast.expr, left: object, right: object) -> object:
        if isinstance(left, list) and isinstance(right, list):
            return [*left, *right]
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        return Computed(node.lineno)


def _is_list(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Attribute(attr=section), attr="profile_list"):
            return section in _SECTIONS
        case _:
            return False
