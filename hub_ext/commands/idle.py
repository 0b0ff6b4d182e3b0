"""`gpu-commons idle`: see whether servers are stopped as idle, let held stops go on, try rules.

Where no governor lives, the ledger tells, and the command acts in its place.
"""

import argparse
import json
from datetime import UTC, datetime

from ..i18n import _
from ..lease import local_text
from ..lease.idling import IdleSheet
from ..service.api.hands import ByHand
from . import idletrial
from .acts import Act, asked, carry_out, in_its_place
from .onsite import Onsite, actor, add_reason, add_verb, onsite, reason_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    show = add_verb(verbs, "show", _("say whether servers are stopped as idle now"))
    show.add_argument("--json", action="store_true", help=_("as JSON"))
    add_reason(add_verb(verbs, "release", _("let idle stops go on that are held")))
    words = _("whom new idle rules would have stopped, and switch them on")
    idletrial.add_arguments(verbs.add_parser("trial", help=words, description=words))


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    if args.verb == "trial":
        return idletrial.run(args)
    site = onsite(args.state)
    if args.verb == "release":
        sheet = carry_out(site, _released(reason_of(args.reason))).value
    else:
        sheet = _seen(site)
    if args.verb == "show" and args.json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
    else:
        _show(sheet)
    return 0


def _released(reason: str) -> Act[IdleSheet]:
    who = actor()
    return Act(
        "idle/release",
        ByHand(reason=reason, by=who.name),
        IdleSheet,
        lambda core, now: core.release_idle(reason=reason, actor=who, now=now),
    )


def _seen(site: Onsite) -> IdleSheet:
    pid = site.governor()
    if pid is not None:
        return asked(site, pid, "idle", IdleSheet)
    with in_its_place(site) as (core, _now):
        return core.idleness(now=datetime.now(UTC))


def _show(sheet: IdleSheet) -> None:
    if sheet.held is None:
        print(_("idle stops are not held"))
        return
    since = local_text(sheet.held.since, sheet.timezone)
    print(_("nobody is stopped as idle since {since}:").format(since=since))
    for ground in sheet.held.grounds:
        print(f"  {ground}")
    print(_("it ends by itself; `gpu-commons idle release --reason …` ends it now"))
