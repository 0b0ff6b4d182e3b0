"""`gpu-commons env digest PREFIX`: print the pin of a Python environment for the policy."""

import argparse
from pathlib import Path

from ..i18n import _
from ..images.pins import digest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("action", choices=["digest"], help=_("what to do"))
    parser.add_argument("prefix", type=Path, help=_("directory that holds bin/python"))


def run(args: argparse.Namespace) -> int:
    """Print the digest.

    Raises
    ------
    UnpinnableError
        When the prefix is missing, is slow, holds an editable install, or is broken.
    """
    print(digest(args.prefix.absolute()))
    return 0
