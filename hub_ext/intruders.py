"""Finds a foreign package that answers to one of our import names. Runs none of its code.

`spawner`, `hub_ext` and `labextension` are generic words: a `spawner.py` in a hub's working
directory, or a package of that name from an index, would be imported in our place.
"""

import ast
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from .errors import IntruderError
from .i18n import _

NAMES = ("hub_ext", "spawner", "labextension")
"""The top-level names that the wheel brings."""

PRODUCT = "gpu-commons"


def check(*names: str) -> None:
    """Make sure that the given import names (all of ours by default) are ours, or absent.

    Raises
    ------
    IntruderError
        Names each intruder's file and what to do about it.
    """
    found = [
        _("{name} is answered by {path}").format(name=name, path=path)
        for name in names or NAMES
        if (path := intruder(name)) is not None
    ]
    if found:
        raise IntruderError(
            _(
                "A foreign package stands where GPU Commons is expected: {found}. "
                "Rename or uninstall it, or start from another directory."
            ).format(found="; ".join(found))
        )


def intruder(name: str) -> str | None:
    """Path of a foreign package behind an import name; None where it is ours or absent."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        if getattr(loaded, "__product__", None) == PRODUCT:
            return None
        return str(getattr(loaded, "__file__", None) or loaded)
    spec = PathFinder.find_spec(name)
    if spec is None:
        return None
    if spec.origin is None:
        return ", ".join(spec.submodule_search_locations or ())
    return None if _claims(Path(spec.origin)) else spec.origin


def _claims(source: Path) -> bool:
    """Whether a source file binds `__product__` to our name at its top level."""
    try:
        tree = ast.parse(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    return any(
        isinstance(node, ast.Assign)
        and any(
            isinstance(target, ast.Name) and target.id == "__product__" for target in node.targets
        )
        and isinstance(node.value, ast.Constant)
        and node.value.value == PRODUCT
        for node in tree.body
    )
