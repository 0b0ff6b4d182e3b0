"""Every refusal, reason and empty state of the product, read from its sources: code and words."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.parsing import parsed

SPEAKERS = ("RefusedError", "Reason", "refuse", "wait")
"""What carries words to a person, with a code in front of them."""

TRANSLATED = ("_", "ngettext")
SENTENCE = re.compile(r"[.!:}]$")
"""What is not one is put into another."""

KEBAB = re.compile(r"[a-z]+(-[a-z]+)+")
KIND = re.compile(
    r"(lease|policy|device|verdict|notice|charge|admin|reservation|month|idle|server|workload|kueue"
    r"|anomaly|quota|budget|call|clock|start|image|keep|value)\.(?!hold|yaml|html|json)[a-z_]+"
)
"""How kinds of event are written; a field of the policy that reads alike is left out."""

EMPTY = re.compile(r"""class="empty"[^>]*>\{\{\s*_\("((?:[^"\\]|\\.)+)"\)""")


@dataclass(frozen=True, order=True)
class Spoken:
    """One thing that is said: its code, and the sentences that it may be said with."""

    code: str
    words: tuple[str, ...]


def spoken(root: Path) -> list[Spoken]:
    """Everything that `root`'s packages may answer, by code; the words of one code together."""
    found: dict[str, dict[str, None]] = {}
    for package in ("hub_ext", "spawner", "labextension"):
        for file in sorted((root / package).rglob("*.py")):
            if "node_modules" not in file.parts:
                for code, words in _said(parsed(file.read_text("utf-8"))):
                    found.setdefault(code, {}).update(dict.fromkeys(words))
    whole = {
        code: [w for w in words if SENTENCE.search(w)] or list(words)
        for code, words in found.items()
    }
    return sorted(Spoken(code, tuple(words)) for code, words in whole.items() if words)


def event_kinds(root: Path) -> set[str]:
    """Every kind of event that the sources name."""
    return {
        node.value
        for file in (root / "hub_ext").rglob("*.py")
        for node in ast.walk(parsed(file.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and KIND.fullmatch(node.value)
    }


def empty_states(root: Path) -> dict[str, list[str]]:
    """Page -> what it says where there is nothing to show."""
    found = {}
    for folder in ("hub_ext/service/templates", "spawner/templates"):
        for file in sorted((root / folder).glob("*.html")):
            said = EMPTY.findall(file.read_text("utf-8"))
            if said:
                found[file.stem] = list(dict.fromkeys(said))
    return found


def _sentences(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if SENTENCE.search(word)) or tuple(words)


def _said(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    constants = _constants(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                given = {word.arg: word.value for word in call.keywords}
                code = given.get("code") or (call.args[0] if call.args else None)
                words = given.get("message") or (call.args[1] if len(call.args) > 1 else None)
                named, own = _text(code, constants), _literals(words)
                if named and _name(call.func) in SPEAKERS:
                    # Words that are put together above the call stand in the same function.
                    yield named, own or ([] if isinstance(node, ast.Assign) else _literals(node))
                elif named and own and KEBAB.fullmatch(named) and _name(call.func):
                    # A function near by that makes the answer out of a code and its words.
                    yield named, own


def _constants(tree: ast.Module) -> dict[str, str]:
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text(node: ast.expr | None, constants: dict[str, str]) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return constants.get(name)
        case _:
            return None


def _literals(node: ast.AST | None) -> list[str]:
    if node is None:
        return []
    return [
        word.value
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and _name(call.func) in TRANSLATED
        for word in call.args[: 1 if _name(call.func) == "_" else 2]
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    ]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
