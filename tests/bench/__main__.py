"""Run every benchmark, or those named, and print one table: `python -m tests.bench [NAME…]`.

With `--write` the table of a whole run becomes `docs/benchmarks.md`.
"""

import os
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from tests.bench.table import Row

PAGE = Path(__file__).parents[2] / "docs/benchmarks.md"

HEAD = """\
# Benchmarks

<!-- Written by `make bench`. Do not edit. -->

All figures are of one run of `make bench`: ours beside a peer, or beside a limit that stands in
the code of the benchmark. A ratio below 1 is better than that, unless the line says otherwise.
Each line names the command that measures it again.

{when}, {cpus} CPUs ({machine}), Python {python}; nothing else ran.

| what | ours | peer or limit | ratio | command |
|---|---|---|---|---|
"""


def main(words: list[str]) -> int:
    """Print the table as Markdown; write it where asked."""
    known = sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))
    names = [word for word in words if word != "--write"]
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
        return 2
    if names and names != words:
        print("--write is for a run of all benchmarks, so that one table is of one run")
        return 2
    print("| what | ours | peer or limit | ratio |\n|---|---|---|---|", flush=True)
    lines = []
    for name, row in measured(names or known):
        print(f"| {' | '.join(row)} |", flush=True)
        lines.append(f"| {' | '.join(row)} | `python -m tests.bench {name}` |\n")
    if words == ["--write"]:
        PAGE.write_text(head() + "".join(lines), "utf-8")
    return 0


def measured(names: list[str]) -> Iterator[tuple[str, Row]]:
    """Each line, with the benchmark that it is of."""
    for name in names:
        for row in import_module(f"tests.bench.bench_{name}").rows():
            yield name, row


def head() -> str:
    """What was measured where; the machine by its kind, never by its name."""
    return HEAD.format(
        when=f"{datetime.now(UTC):%Y-%m-%d}",
        cpus=os.cpu_count(),
        machine=platform.machine(),
        python=platform.python_version(),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
