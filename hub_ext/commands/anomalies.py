"""`gpu-commons anomalies`: what is odd about how GPUs are used, and what to do about one of it.

It asks the living governor, because only that has looked at the readings.
"""

import argparse
import json
from typing import get_args

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease.anomalies import AnomalyAct, AnomalySheet
from ..service.api.anomalies import DeedByHand
from ..service.sheets.anomalies import AnomalyRow, row, total
from .acts import asked
from .columns import print_table
from .instants import zone_of
from .onsite import actor, add_state, onsite, reason_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_state(parser)
    parser.add_argument("id", nargs="?", metavar="ID", help=_("one of them, to do something about"))
    parser.add_argument("--do", choices=get_args(AnomalyAct), help=_("what is done about it"))
    parser.add_argument("--reason", default="", help=_("why; read by its owner"))
    parser.add_argument("--json", action="store_true", help=_("as JSON"))


def run(args: argparse.Namespace) -> int:
    """Print what is odd, after doing something about it where that is asked for; return 0.

    Raises
    ------
    GpuCommonsError
        When no governor lives, or it refuses.
    """
    if bool(args.id) != bool(args.do):
        raise GpuCommonsError(_("name the anomaly by its id, and with --do what is done about it"))
    site = onsite(args.state)
    pid = site.governor()
    if pid is None:
        raise GpuCommonsError(
            _("no governor lives, and only it has looked at the readings; start the hub first")
        )
    if args.do:
        said = DeedByHand(act=args.do, reason=reason_of(args.reason), by=actor().name)
        sheet = asked(site, pid, f"anomalies/{args.id}/act", AnomalySheet, said)
    else:
        sheet = asked(site, pid, "anomalies", AnomalySheet)
    if args.json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
        return 0
    _show(sheet, zone_of(site))
    return 0


def _show(sheet: AnomalySheet, zone: str) -> None:
    if not sheet.open:
        print(_("nothing is odd now"))
        return
    heads = (_("id"), _("whose"), _("team"), _("kind"), _("since"), _("stands for"), _("proposed"))
    rows = [row(one, zone) for one in sheet.open]
    print_table([heads, *map(_line, rows)])
    for one in rows:
        print(f"{one.id}: {one.words}")
    print(total(sheet.open))


def _line(one: AnomalyRow) -> tuple[str, ...]:
    return (one.id, one.owner, one.teams, one.kind, one.since, one.money, one.act)
