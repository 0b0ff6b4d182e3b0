"""The child process that talks to NVML: prints one reading as a line of JSON each period.

Each line is its heartbeat. It ends with its parent, and when the driver was replaced.
"""

import argparse
import os
import sys
import time
from datetime import UTC, datetime

from ..errors import IntruderError
from ..lease import Inventory
from ..parent import watch_parent
from .nvml import Driver, DriverReplacedError, check_bindings
from .sample import Reading


def _say(reading: Reading) -> None:
    sys.stdout.write(reading.model_dump_json() + "\n")
    sys.stdout.flush()


def _say_problem(node: str, problem: str) -> None:
    inventory = Inventory(
        node=node, source="nvml", at=datetime.now(UTC), devices=(), problem=problem
    )
    _say(Reading(inventory=inventory))


def main() -> int:
    """Read until the parent is gone; 3 when a new process has to take over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--node", required=True)
    parser.add_argument("--period", type=float, required=True)
    args = parser.parse_args()
    # Not a clean exit: a call that hangs in the driver would hold that up for ever.
    watch_parent(lambda: os._exit(0))
    try:
        check_bindings()
        driver = Driver(args.node, args.period)
        while True:
            started = time.monotonic()
            reading = driver.read(datetime.now(UTC))
            # Where no GPU answers this process is of no use; the parent hears that it is silent.
            if driver.answers:
                _say(reading)
            time.sleep(max(0.0, args.period - (time.monotonic() - started)))
    except (DriverReplacedError, IntruderError) as error:
        _say_problem(args.node, str(error))
        return 3
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
