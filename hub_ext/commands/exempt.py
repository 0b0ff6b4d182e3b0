"""`gpu-commons exempt`: exempt from the idle rules until a time to come, list that, end it early.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse
import json
from datetime import UTC, datetime
from typing import get_args
from urllib.parse import quote

from ..i18n import _
from ..lease import Actor, Exemption, ExemptionSheet, Subject, local_text
from ..ledger.beside import reading
from ..service.api.exemptions import ExemptByHand
from ..service.api.hands import ByHand
from ..service.books.exemptions import of_ledger
from ..service.reclaim.exempting import ExemptionWish
from ..units import parse_duration
from .acts import Act, carry_out
from .columns import print_table
from .instants import instant, zone_of
from .onsite import actor, add_reason, add_verb, onsite, reason_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list the exemptions that hold"))
    every.add_argument("--json", action="store_true", help=_("as JSON"))
    add = add_verb(verbs, "add", _("let no idle rule stop it until then"))
    add.add_argument("subject", choices=get_args(Subject), help=_("whether one lease, or whose"))
    add.add_argument("name", metavar="NAME", help=_("the lease's id, or the name"))
    ends = add.add_mutually_exclusive_group(required=True)
    ends.add_argument(
        "--until",
        metavar="TIME",
        help=_("when it ends: 2026-12-04T06:00 on the policy's clock, or with a zone"),
    )
    ends.add_argument("--for", dest="span", metavar="SPAN", help=_("how long: 90m, 4h, 2d"))
    end = add_verb(verbs, "end", _("end it before its time"))
    end.add_argument("id", metavar="ID", help=_("its id, as `list` prints it"))
    for one in (add, end):
        add_reason(one)


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    site, now = onsite(args.state), datetime.now(UTC)
    zone = zone_of(site)
    if args.verb == "list":
        with reading(site.state, url=site.ledger_url) as tx:
            holding = of_ledger(tx).holding(now)
        _show(ExemptionSheet(at=now, timezone=zone, exemptions=holding), as_json=args.json)
        return 0
    reason, who = reason_of(args.reason), actor()
    if args.verb == "add":
        until = now + parse_duration(args.span) if args.span else instant(args.until, zone, now)
        wanted = ExemptionWish(subject=args.subject, name=args.name, until=until)
        act = _added(wanted, reason, who)
    else:
        act = _ended(args.id, reason, who)
    sheet = carry_out(site, act).value
    if args.verb == "end":
        print(_("exemption {id} has ended").format(id=args.id))
    _show(sheet, as_json=False)
    return 0


def _added(wanted: ExemptionWish, reason: str, who: Actor) -> Act[ExemptionSheet]:
    return Act(
        "exemptions",
        ExemptByHand(reason=reason, by=who.name, wanted=wanted),
        ExemptionSheet,
        lambda core, now: core.exempt(wanted, reason=reason, actor=who, now=now),
    )


def _ended(exemption_id: str, reason: str, who: Actor) -> Act[ExemptionSheet]:
    return Act(
        f"exemptions/{quote(exemption_id, safe='')}/end",
        ByHand(reason=reason, by=who.name),
        ExemptionSheet,
        lambda core, now: core.end_exemption(exemption_id, reason=reason, actor=who, now=now),
    )


def _show(sheet: ExemptionSheet, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
    elif not sheet.exemptions:
        print(_("no exemption holds"))
    else:
        heads = (_("id"), _("of"), _("until"), _("by"), _("reason"))
        print_table([heads, *(_row(one, sheet.timezone) for one in sheet.exemptions)])


def _row(one: Exemption, zone: str) -> tuple[str, ...]:
    return (
        one.id,
        f"{one.subject} {one.name}",
        local_text(one.until, zone),
        one.by,
        one.reason,
    )
