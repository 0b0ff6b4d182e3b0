"""`gpu-commons maintenance`: announce maintenance in advance, list it, call it off.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse
import json
from datetime import UTC, datetime
from urllib.parse import quote

from ..i18n import _
from ..lease import Actor, Maintenance, MaintenanceSheet, local_text
from ..ledger.beside import reading
from ..service.api.hands import ByHand
from ..service.api.maintenance import AnnounceByHand
from ..service.books.outages import of_ledger
from ..service.devices.maintaining import Announcement
from ..units import parse_duration
from .acts import Act, carry_out
from .columns import print_table
from .device import add_spot
from .instants import instant, zone_of
from .onsite import actor, add_reason, add_verb, onsite, reason_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list what is announced and not over"))
    every.add_argument("--json", action="store_true", help=_("as JSON"))
    announce = add_verb(
        verbs, "announce", _("let no lease be there for a while, from a time to come")
    )
    add_spot(announce)
    announce.add_argument(
        "--from",
        dest="start",
        required=True,
        metavar="TIME",
        help=_("when it begins: now, 2026-12-04T06:00 on the policy's clock, or with a zone"),
    )
    ends = announce.add_mutually_exclusive_group(required=True)
    ends.add_argument("--until", metavar="TIME", help=_("when it is over"))
    ends.add_argument("--for", dest="span", metavar="SPAN", help=_("how long: 90m, 4h, 2d"))
    off = add_verb(verbs, "call-off", _("call it off, or end it early"))
    off.add_argument("id", metavar="ID", help=_("its id, as `list` prints it"))
    for one in (announce, off):
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
            announced = of_ledger(tx).announced(now)
        _show(MaintenanceSheet(at=now, timezone=zone, announced=announced), as_json=args.json)
        return 0
    reason, who = reason_of(args.reason), actor()
    act = _called_off(args, reason, who)
    if args.verb == "announce":
        act = _announced(args, zone, now, reason, who)
    sheet = carry_out(site, act).value
    if args.verb == "call-off":
        print(_("maintenance {id} is called off").format(id=args.id))
    _show(sheet, as_json=False)
    return 0


def _called_off(args: argparse.Namespace, reason: str, who: Actor) -> Act[MaintenanceSheet]:
    wanted = getattr(args, "id", "")
    return Act(
        f"maintenance/{quote(wanted, safe='')}/call-off",
        ByHand(reason=reason, by=who.name),
        MaintenanceSheet,
        lambda core, now: core.call_off(wanted, reason=reason, actor=who, now=now),
    )


def _announced(
    args: argparse.Namespace, zone: str, now: datetime, reason: str, who: Actor
) -> Act[MaintenanceSheet]:
    start = instant(args.start, zone, now)
    end = start + parse_duration(args.span) if args.span else instant(args.until, zone, now)
    wanted = Announcement(place=args.place, name=args.name, start=start, end=end)
    return Act(
        "maintenance",
        AnnounceByHand(reason=reason, by=who.name, wanted=wanted),
        MaintenanceSheet,
        lambda core, at: core.announce(wanted, reason=reason, actor=who, now=at),
    )


def _show(sheet: MaintenanceSheet, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
    elif not sheet.announced:
        print(_("no maintenance is announced"))
    else:
        heads = (_("id"), _("of"), _("from"), _("until"), _("by"), _("reason"))
        print_table([heads, *(_row(one, sheet.timezone) for one in sheet.announced)])


def _row(one: Maintenance, zone: str) -> tuple[str, ...]:
    return (
        one.id,
        f"{one.place} {one.name}",
        local_text(one.start, zone),
        local_text(one.end, zone),
        one.by,
        one.reason,
    )
