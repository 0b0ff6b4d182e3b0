"""`gpu-commons doctor`: what is wrong with this hub's GPU Commons, a line each, with the remedy.

It reads and asks; but for one file that it writes and removes to try the disk, it changes nothing.
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from ...errors import GpuCommonsError
from ...i18n import _
from ..onsite import add_state, onsite
from . import hub, kueue, machine, room
from .findings import Finding, Look, Verdict, wrong
from .notices import notices

Check = Callable[[Look], Iterable[Finding]]

CHECKS: dict[str, Check] = {
    "hub": hub.hub,
    "settings": hub.settings,
    "packages": machine.packages,
    "state": machine.place,
    "tokens": machine.tokens,
    "governor": hub.governor,
    "proxy": hub.proxy,
    "clock": machine.clock,
    "ledger": hub.ledger,
    "policy": hub.policy,
    "readings": room.readings,
    "notices": notices,
    "kueue": kueue.kueue,
}
"""Subject and its check, in the order of the report; another check is another line here."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what to look at."""
    add_state(parser)
    parser.add_argument(
        "--url", help=_("public address of the hub, with its base path: https://hub.example")
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help=_("look at Kueue there too (default: where the governor admits by it)"),
    )


def run(args: argparse.Namespace) -> int:
    """Print the findings and return 1 where something is wrong.

    Raises
    ------
    GpuCommonsError
        When the state directory is not there, or the address is none.
    """
    if args.url is not None and not args.url.startswith(("http://", "https://")):
        raise GpuCommonsError(_("{url} is no address").format(url=repr(args.url)))
    look = Look(onsite(args.state), args.url, args.kubeconfig)
    worst = 0
    for subject, check in CHECKS.items():
        for finding in examined(check, look):
            worst |= finding.verdict is Verdict.wrong
            line = f"{finding.verdict.value:<6}{subject:<10}{finding.words}"
            print(f"{line}; {finding.remedy}" if finding.remedy else line)
    return int(worst)


def examined(check: Check, look: Look) -> list[Finding]:
    """Carry out one check; where it breaks, that is a finding and the others go on."""
    found: list[Finding] = []
    try:
        found.extend(check(look))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, GpuCommonsError) as error:
        found.append(
            wrong(
                _("could not be looked at: {error}").format(error=error),
                _("this is a fault of the check; please report it"),
            )
        )
    return found
