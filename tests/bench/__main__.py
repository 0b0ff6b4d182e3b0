"""Run every benchmark, or those named, and print one table: `python -m tests.bench [NAME…]`."""

import sys
from importlib import import_module
from pathlib import Path

from tests.bench.table import Row


def main(names: list[str]) -> int:
    """Print the table as Markdown."""
    known = sorted(p.stem.removeprefix("bench_") for p in Path(__file__).parent.glob("bench_*.py"))
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
        return 2
    print("| what | ours | peer or limit | ratio |\n|---|---|---|---|", flush=True)
    for name in names or known:
        rows: list[Row] = list(import_module(f"tests.bench.bench_{name}").rows())
        for row in rows:
            print(f"| {' | '.join(row)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
