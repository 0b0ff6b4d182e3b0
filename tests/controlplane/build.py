"""`python -m tests.controlplane.build [NAME…]`: build what lacks, all or those that are named."""

import argparse
import sys

from .programs import PROGRAMS, SMOKE, Shop
from .programs.toolchain import BuildFailedError, NoGoError


def main(arguments: list[str] | None = None) -> int:
    """Build, and say in words what happened; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane.build")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"one of {', '.join(PROGRAMS)}, or `smoke` for {', '.join(SMOKE)}; all without it",
    )
    parser.add_argument(
        "--if-possible",
        action="store_true",
        help="where there is no Go, say so and succeed: the tests then skip with that reason",
    )
    chosen = parser.parse_args(arguments)
    named = chosen.names or list(PROGRAMS)
    if unknown := set(named) - {*PROGRAMS, "smoke"}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    wanted = [one for name in named for one in (SMOKE if name == "smoke" else [name])]
    shop = Shop()
    try:
        shop.build(wanted, lambda words: print(words, flush=True))
    except NoGoError as error:
        print(error, file=sys.stderr)
        return 0 if chosen.if_possible else 1
    except BuildFailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
