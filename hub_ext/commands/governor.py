"""`gpu-commons governor`: runs the service that decides, records and reclaims.

The hub starts it; by hand it needs the variables that a hub gives to a managed service.
"""

import argparse
import asyncio
import logging
import os
import sys

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from ..i18n import _
from ..service.app import GovernorService
from ..service.books.config import GovernorConfig
from ..service.http.turns import new_loop
from ..service.reference import PAGES, page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "--config", metavar="FILE", help=_("Python file with settings, c.GovernorConfig.…")
    )
    parser.add_argument(
        "--print", choices=PAGES, metavar="PAGE", help=_("print a page of reference and end")
    )
    parser.add_argument("--debug", action="store_true", help=_("write every request to the log"))


def run(args: argparse.Namespace) -> int:
    """Serve until the hub ends it; return 0, or 1 after a fault."""
    if args.print:
        sys.stdout.write(page(args.print))
        return 0
    logging.basicConfig(
        level=logging.DEBUG if args.debug else logging.INFO,
        format="%(asctime)s %(levelname).1s %(name)s: %(message)s",
    )
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    config = PyFileConfigLoader(args.config).load_config() if args.config else Config()
    settings = GovernorConfig.from_environment(os.environ, config).settings()

    async def serve() -> int:
        return await GovernorService(settings, os.environ).run()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(serve())
