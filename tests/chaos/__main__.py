"""`make chaos SEED=7`: ten minutes of faults under load, then one line a rule that must hold."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.run import Plan, carry_out, report


def main() -> int:
    """Run; return 1 where a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--recovery", type=float, default=120, help="seconds after the last fault")
    parser.add_argument("--poll", type=int, default=30, help="seconds between looks at services")
    parser.add_argument("--keep", type=Path, help="folder to keep everything in")
    args = parser.parse_args()
    plan = Plan(args.seed, 60 * args.minutes, args.people, args.recovery, args.poll)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        breaches = carry_out(plan, args.keep or Path(folder) / "run")
    sys.stdout.write(report(breaches))
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
