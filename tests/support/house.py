"""The rules of the house as functions over source text, so that a planted fault can be shown."""

import ast
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.parsing import parsed

ROOT = Path(__file__).parents[2]
PACKAGES = ("hub_ext", "spawner", "labextension")
MOST_LINES = 400
MEDIAN_LINES = 130
MOST_FUNCTION_LINES = 60
P95_FUNCTION_LINES = 35
DECISION_LINES = 60

BANNED_WORDS = {
    "allocation": "lease",
    "job": "lease",
    "session": "lease",
    "lab": "server",
    "pod": "server",
    "notebook": "server",
    "partition": "pool",
    "account": "team or project",
    "tenant": "team or project",
    "deserved": "nominal",
    "entitlement": "nominal",
    "elastic": "borrowing_limit",
    "kill": "preempt, cull or expire",
    "history": "ledger or event",
    "bill": "charge",
    "credit": "charge",
}
"""Word in a name of ours -> the word this product uses instead."""

FREE_WORDS = {
    "hub_ext/kube/": {"pod"},
    "hub_ext/lease/asking.py": {"pod"},
    "hub_ext/lease/pods.py": {"pod"},
    "spawner/kube": {"pod"},
    "labextension/": {"lab", "notebook"},
}
BANNED_FILES = {"utils", "helpers", "common", "manager", "base", "misc"}
OWNERS = {
    "sqlalchemy": ("hub_ext/ledger/",),
    "alembic": ("hub_ext/ledger/",),
    "sqlite3": ("hub_ext/ledger/",),
    "pynvml": ("hub_ext/telemetry/nvml",),
    "plotly": ("hub_ext/reports/figures.py",),
    "kubernetes_asyncio": ("hub_ext/kube/", "spawner/kube"),
}
"""Library -> the only places that may import it."""

CLOCKS = (
    "hub_ext/service/app.py",
    "hub_ext/service/basis/clock.py",
    "hub_ext/telemetry/",
    "hub_ext/commands/",
    "labextension/",
    "spawner/",
)
"""Composition roots: elsewhere `now` is an argument."""

UNFINISHED = re.compile(
    r"\b(TODO|FIXME|XXX|HACK|NotImplementedError|MagicMock)\b"
    r"|\bMock\(|type: ignore(?!\[)|mark\.skip\b|xfail\("
)
WORKPLACE = re.compile(
    r"/work/|/root/|registry\.npmjs|pypi\.org|files\.pythonhosted|proxy\.golang|\bissue #?\d+\b",
    re.IGNORECASE,
)


def sources() -> dict[str, str]:
    """Map each of our Python files (packages, tests, config, docs) to its text."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for top in (*PACKAGES, "tests", "config", "docs")
        for path in sorted((ROOT / top).rglob("*.py"))
        if "node_modules" not in path.parts and "_build" not in path.parts
    }


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _product(files: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in files.items()
        if name.startswith(PACKAGES) and "/migrations/" not in name
    }


def size_faults(files: Mapping[str, str]) -> list[str]:
    """Files over 400 lines, functions over 60, and medians that creep."""
    product = _product(files)
    counts = {name: text.count("\n") for name, text in product.items()}
    faults = [
        f"{name}: {n} lines; split it along its subjects"
        for name, n in counts.items()
        if n > MOST_LINES
    ]
    lengths = []
    for name, text in product.items():
        for node in _functions(parsed(text)):
            lengths.append(_length(node))
            if _length(node) > MOST_FUNCTION_LINES:
                faults.append(f"{name}:{node.lineno}: {node.name} has {_length(node)} lines")
    if counts and statistics.median(counts.values()) > MEDIAN_LINES:
        faults.append(f"median file has {statistics.median(counts.values())} lines")
    if len(lengths) > 1 and (p95 := statistics.quantiles(lengths, n=20)[-1]) > P95_FUNCTION_LINES:
        faults.append(f"95 of 100 functions have up to {p95} lines")
    return faults


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that we define: classes, functions, arguments' own fields (annotated names)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id


def _words(name: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = {word for word in spaced.lower().split("_") if word}
    return words | {word.removesuffix("s") for word in words}


def word_faults(files: Mapping[str, str]) -> list[str]:
    """Names that use another word than this product's."""
    faults = []
    for name, text in _product(files).items():
        free = {w for prefix, ws in FREE_WORDS.items() if name.startswith(prefix) for w in ws}
        for line, defined in _names(parsed(text)):
            faults += [
                f"{name}:{line}: {defined}: say {BANNED_WORDS[word]}, not {word}"
                for word in sorted(_words(defined) & set(BANNED_WORDS) - free)
            ]
    return faults


def file_name_faults(files: Mapping[str, str]) -> list[str]:
    """Files and folders whose name says nothing."""
    return [
        f"{name}: name it after its subject"
        for name in _product(files)
        if BANNED_FILES & set(re.split(r"[/.]", name))
    ]


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "", node.level


def import_faults(files: Mapping[str, str]) -> list[str]:
    """Libraries outside their owner, and absolute imports inside a package."""
    faults = []
    for name, text in _product(files).items():
        own = name.split("/")[0]
        for line, module, level in _imports(parsed(text)):
            top = module.split(".")[0]
            owners = OWNERS.get(top) if level == 0 else None
            if owners and not name.startswith(owners):
                faults.append(f"{name}:{line}: {top} belongs to {' and '.join(owners)}")
            if level == 0 and top == own:
                faults.append(f"{name}:{line}: import {module} relatively inside {own}")
    return faults


def clock_faults(files: Mapping[str, str]) -> list[str]:
    """Reads of the wall clock outside the composition roots."""
    faults = []
    for name, text in _product(files).items():
        if name.startswith(CLOCKS):
            continue
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                spelled = ast.unparse(node.func)
                if spelled in {"datetime.now", "datetime.utcnow", "time.time", "date.today"}:
                    faults.append(f"{name}:{node.lineno}: {spelled}: take `now` as an argument")
    return faults


def leftover_faults(files: Mapping[str, str]) -> list[str]:
    """Unfinished work, and words of a workplace instead of the product."""
    return [
        f"{name}:{number}: {match[0]}"
        for name, text in files.items()
        if not name.endswith("support/house.py") and not name.endswith("test_house.py")
        for number, line in enumerate(text.splitlines(), 1)
        if (match := UNFINISHED.search(line) or WORKPLACE.search(line))
    ]


def docstring_faults(files: Mapping[str, str]) -> list[str]:
    """Modules without a docstring, or with one of more than five lines."""
    faults = []
    for name, text in _product(files).items():
        words = ast.get_docstring(parsed(text))
        if not words:
            faults.append(f"{name}:1: say what the module is for")
        elif words.count("\n") >= 5 and not name.endswith("errors.py"):
            faults.append(f"{name}:1: say it in at most five lines")
    return faults


def string_faults(files: Mapping[str, str]) -> list[str]:
    """Words for people that no translator can find: gettext takes literals alone."""
    faults = []
    for name, text in _product(files).items():
        for node in ast.walk(parsed(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            count = {"_": 1, "ngettext": 2}.get(node.func.id, 0)
            literal = all(
                isinstance(a, ast.Constant) and isinstance(a.value, str) for a in node.args[:count]
            )
            if count and not literal:
                faults.append(f"{name}:{node.lineno}: give {node.func.id}() a literal")
    return faults


RULES = (
    string_faults,
    size_faults,
    word_faults,
    file_name_faults,
    import_faults,
    clock_faults,
    leftover_faults,
    docstring_faults,
)
