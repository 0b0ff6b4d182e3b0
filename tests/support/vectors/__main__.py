"""`python -m tests.support.vectors FILE…`: a line a scenario; exit 1 on a difference."""

import sys
from pathlib import Path

from . import outcomes


def main(names: list[str]) -> int:
    """Replay the files and count."""
    if not names:
        print("usage: python -m tests.support.vectors FILE…")
        return 2
    passed = failed = 0
    for name in names:
        try:
            found = outcomes(Path(name))
            for outcome in found:
                print(outcome.line)
                different = outcome.difference is not None
                passed, failed = passed + (not different), failed + different
        except (OSError, ValueError) as error:
            print(error)
            return 2
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
