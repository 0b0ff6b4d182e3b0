"""The governor as the product starts it, on a clock that a test steps by a file.

The machine's clock is never touched: seconds in the file are added to it. Only a test's hub names
this script as the command of the service; the product has no such switch.
"""

import asyncio
import logging
import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

from hub_ext.service.app import GovernorService
from hub_ext.service.basis.clock import wall_clock
from hub_ext.service.books.config import GovernorConfig

OFFSET = "STEPPED_GOVERNOR_OFFSET"
"""Variable that names the file; no file means no step."""


def stepped(file: Path) -> datetime:
    """Return the present instant as the governor is to see it."""
    try:
        offset_s = float(file.read_text())
    except (FileNotFoundError, ValueError):
        offset_s = 0.0
    return wall_clock() + timedelta(seconds=offset_s)


async def serve() -> int:
    """Serve until the hub ends it."""
    file = Path(os.environ[OFFSET])
    settings = GovernorConfig.from_environment(os.environ).settings()
    return await GovernorService(settings, os.environ, clock=lambda: stepped(file)).run()


if __name__ == "__main__":
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s"
    )
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    sys.exit(asyncio.run(serve()))
