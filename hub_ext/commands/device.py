"""`gpu-commons device`: see the devices, take one out or back, drain and lift, with a reason.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import get_args
from urllib.parse import quote

from ..errors import LedgerError
from ..i18n import _
from ..lease import Actor, DeviceId, DeviceRow, DeviceSheet, Drain, Place, Spot, utc_text
from ..ledger.beside import reading
from ..service.api.devices import DrainByHand, LiftByHand
from ..service.api.hands import ByHand
from ..service.books.outages import drain_words, of_ledger, outage_words
from ..service.devices.upkeep import table
from ..units import parse_duration
from .acts import Act, asked, carry_out
from .columns import print_table
from .onsite import Onsite, actor, add_reason, add_verb, onsite, reason_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list the devices, who has them, what is out or drained"))
    every.add_argument("--json", action="store_true", help=_("as JSON"))
    out = add_verb(verbs, "out", _("take a device out of service; who has it keeps it"))
    back = add_verb(verbs, "back", _("bring a device back into service"))
    for one in (out, back):
        one.add_argument("device", metavar="ID", help=_("the device's id, as `list` prints it"))
    drain = add_verb(
        verbs, "drain", _("give no new lease there, and announce the end of those there")
    )
    lift = add_verb(verbs, "lift", _("end a drain; its notices are taken back"))
    for one in (drain, lift):
        add_spot(one)
    drain.add_argument(
        "--after",
        metavar="SPAN",
        help=_("when leases there are stopped: 0s, 30m, 4h (default: the policy's notice)"),
    )
    for one in (out, back, drain, lift):
        add_reason(one)


def add_spot(parser: argparse.ArgumentParser) -> None:
    """Declare the two words that name a pool, a machine or a device."""
    parser.add_argument("place", choices=get_args(Place), help=_("what kind of place"))
    parser.add_argument("name", metavar="NAME", help=_("its name or id"))


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    site = onsite(args.state)
    if args.verb == "list":
        _show(shown(site), as_json=args.json)
        return 0
    done = carry_out(site, _wanted(args, reason_of(args.reason), actor()))
    print(_outcome(args, done.value, alone=done.alone))
    return 0


def shown(site: Onsite) -> DeviceSheet:
    """Read all devices from the living governor, or what the ledger knows of them."""
    pid = site.governor()
    if pid is not None:
        try:
            return asked(site, pid, "devices", DeviceSheet)
        except LedgerError as error:
            sys.stderr.write(f"gpu-commons: {error}\n")
    sys.stderr.write(
        _(
            "No governor answers. Shown is what the ledger knows: devices that are held, out of "
            "service or drained; free ones are not listed.\n"
        )
    )
    with reading(site.state, url=site.ledger_url) as tx:
        return table(tx.leases(), (), of_ledger(tx), at=datetime.now(UTC), drift=())


def _wanted(args: argparse.Namespace, reason: str, who: Actor) -> Act[DeviceSheet]:
    said = {"reason": reason, "by": who.name}
    if args.verb in {"out", "back"}:
        device = DeviceId(args.device)
        path = f"devices/{quote(device, safe='')}/{args.verb}"
        return Act(
            path,
            ByHand(**said),
            DeviceSheet,
            lambda core, now: (core.take_out if args.verb == "out" else core.bring_back)(
                device, reason=reason, actor=who, now=now
            ),
        )
    spot = Spot(place=args.place, name=args.name)
    if args.verb == "lift":
        return Act(
            "drains/lift",
            LiftByHand(place=spot.place, name=spot.name, **said),
            DeviceSheet,
            lambda core, now: core.lift(spot, reason=reason, actor=who, now=now),
        )
    after = None if args.after is None else parse_duration(args.after)
    after_s = None if after is None else int(after.total_seconds())
    return Act(
        "drains",
        DrainByHand(place=spot.place, name=spot.name, after_s=after_s, **said),
        DeviceSheet,
        lambda core, now: core.drain(spot, after=after, reason=reason, actor=who, now=now),
    )


def _show(sheet: DeviceSheet, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
        return
    heads = (_("device"), _("pool"), _("machine"), _("kind"), _("state"), _("lease"))
    rows = [
        (
            row.device.id,
            row.device.pool,
            row.device.node,
            row.device.part or _("whole GPU"),
            _state(row),
            row.lease_id or "-",
        )
        for row in sheet.devices
    ]
    if rows:
        print_table([heads, *rows])
    notes = [outage_words(one) for one in sheet.outages]
    notes += [f"{drain_words(one)}, {_ends(one)}" for one in sheet.drains]
    for line in (*notes, *sheet.drift):
        print(line)
    if not rows and not notes:
        print(_("no device is known"))


def _state(row: DeviceRow) -> str:
    words = [_("held") if row.lease_id else _("free")]
    if row.outage is not None:
        words.append(_("out of service"))
    if row.drain is not None:
        words.append(_("drained"))
    return ", ".join(words)


def _ends(drain: Drain) -> str:
    return _("leases there end by {at}").format(at=utc_text(drain.ends_at))


def _outcome(args: argparse.Namespace, sheet: DeviceSheet, *, alone: bool) -> str:
    if args.verb in {"out", "back"}:
        holder = next((row.lease_id for row in sheet.devices if row.device.id == args.device), None)
        if args.verb == "back":
            return _("{device} is in service again").format(device=args.device)
        if holder is None:
            return _("{device} is out of service").format(device=args.device)
        return _("{device} is out of service; lease {lease} keeps it until it ends").format(
            device=args.device, lease=holder
        )
    if args.verb == "lift":
        return _("{name} is not drained any more").format(name=args.name)
    drain = next(one for one in sheet.drains if (one.place, one.name) == (args.place, args.name))
    line = f"{drain_words(drain)}; {_ends(drain)}"
    return f"{line}. {_('The next governor tells their owners.')}" if alone else line
