"""`gpu-commons schema`: print the policy's JSON schema, or its reference page."""

import argparse
import sys

from ..i18n import _
from ..policy.reference import reference_text
from ..policy.schema import schema_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "--as",
        dest="form",
        choices=["json", "reference"],
        default="json",
        help=_("a JSON schema for editors (default), or the reference page in MyST"),
    )


def run(args: argparse.Namespace) -> int:
    """Print it."""
    sys.stdout.write(schema_text() if args.form == "json" else reference_text())
    return 0
