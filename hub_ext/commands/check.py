"""`gpu-commons check FILE`: what is wrong with a policy, and else what it says on one screen.

Also compares the environments that lie on this machine with their pins, which the policy's own
checks cannot: they touch nothing but the text.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ..errors import PolicyError, RefusedError
from ..i18n import _, ngettext
from ..images.pins import Pins
from ..lease import Environment
from ..policy.checks.projects import STATE, UNPINNED
from ..policy.load import Loaded, load, locate
from ..policy.model import EnvironmentPin
from ..policy.problems import Path as Place
from ..policy.problems import Problem, error, warning
from ..policy.summary import summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("file", type=Path, metavar="FILE", help=_("the policy"))
    parser.add_argument(
        "--state",
        type=Path,
        default=os.environ.get(STATE),
        help=_("state directory, where environments may lie (default: $GPU_COMMONS_STATE)"),
    )
    parser.add_argument(
        "--namespace",
        default=os.environ.get("GPU_COMMONS_KUBE_NAMESPACE"),
        metavar="NAME",
        help=_(
            "the one namespace of all servers on Kubernetes, where projects have none of their "
            "own (default: $GPU_COMMONS_KUBE_NAMESPACE)"
        ),
    )


def run(args: argparse.Namespace) -> int:
    """Print findings, then the summary; return 1 where there are errors."""
    name = str(args.file)
    try:
        loaded = load(args.file, name=name, single=args.namespace)
    except PolicyError as refused:
        for line in refused.findings:
            sys.stderr.write(f"{line}\n")
        return 1
    state = None if args.state is None else Path(args.state)
    drift = locate(loaded.text, _drifted(loaded, args.file.absolute().parent, state))
    found = sorted((*loaded.warnings, *drift), key=lambda one: (one.line, one.column))
    for one in found:
        sys.stderr.write(f"{one.text(name)}\n")
    if any(one.severity == "error" for one in found):
        return 1
    print(summary(loaded.policy))
    print()
    if found:
        count = ngettext("{n} warning", "{n} warnings", len(found)).format(n=len(found))
        print(_("{name} can be used; {count}").format(name=name, count=count))
    else:
        print(_("{name} can be used").format(name=name))
    return 0


def _drifted(loaded: Loaded, base: Path, state: Path | None) -> Iterator[Problem]:
    """Compare each prefix with its pin, where it lies on this machine."""
    pins = Pins(base=base, state=state)
    for project, rules in loaded.policy.projects.items():
        for name, pin in rules.environments.items():
            path: Place = ("projects", project, "environments", name)
            yield from _pin(pins, path, name, pin, state)


def _pin(
    pins: Pins, path: Place, name: str, pin: EnvironmentPin, state: Path | None
) -> Iterator[Problem]:
    if pin.prefix is None or pin.digest == UNPINNED:
        return
    if STATE in pin.prefix and state is None:
        yield warning(
            (*path, "prefix"),
            _("not compared with its pin: {name} is not set").format(name=STATE),
            _("say where with --state"),
        )
        return
    try:
        pins.check(Environment(name=name, prefix=pin.prefix, digest=pin.digest))
    except RefusedError as refused:
        if refused.code == "environment-drifted":
            yield error((*path, "digest"), refused.message)
        else:
            # A policy is often checked on a machine that does not run the servers.
            yield warning((*path, "prefix"), refused.message)
