"""`gpu-commons month`: what months are closed, close the next one, correct a charge.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse
import json
from datetime import UTC, datetime
from urllib.parse import quote

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Actor, LeaseId, ProjectName, TeamName, local_text
from ..lease.months import ClosedMonth, Correction, CorrectionWish, MonthSheet
from ..lease.usage import Amount
from ..service.api.hands import ByHand
from ..service.api.months import CorrectByHand
from ..units import money_text, parse_price
from .acts import Act, asked, carry_out, in_its_place
from .columns import print_table
from .instants import instant, zone_of
from .onsite import Onsite, actor, add_reason, add_verb, onsite, reason_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list closed months, and what stands in the next one's way"))
    every.add_argument("--json", action="store_true", help=_("as JSON"))
    close = add_verb(verbs, "close", _("close the month that is next; it never reopens"))
    close.add_argument("month", metavar="MONTH", help=_("its name, as 2026-11"))
    correct = add_verb(verbs, "correct", _("reverse one charge and state it anew"))
    correct.add_argument("lease", metavar="LEASE", help=_("whose charge it is, as exports name it"))
    correct.add_argument("start", metavar="START", help=_("when the charge begins"))
    correct.add_argument("--team", metavar="T", help=_("the team that should have paid"))
    correct.add_argument("--project", metavar="P", help=_("the project that should have paid"))
    words = _("what an hour should have cost, as 4.20")
    correct.add_argument("--per-hour", metavar="PRICE", help=words)
    correct.add_argument("--waive", action="store_true", help=_("nobody pays; the site bears it"))
    for one in (close, correct):
        add_reason(one)


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0; 1 for `list` where the next month cannot close yet.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    site = onsite(args.state)
    if args.verb == "list":
        return _list(site, as_json=args.json)
    reason, who = reason_of(args.reason), actor()
    if args.verb == "close":
        _show_closed(carry_out(site, _closed(args.month, reason, who)).value)
        return 0
    _show_corrected(carry_out(site, _corrected(args, site, reason, who)).value)
    return 0


def _list(site: Onsite, *, as_json: bool) -> int:
    pid = site.governor()
    if pid is not None:
        sheet = asked(site, pid, "months", MonthSheet)
    else:
        with in_its_place(site) as (core, now):
            sheet = core.months(now=now)
    if as_json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
    else:
        _show(sheet)
    return 0


def _closed(month: str, reason: str, who: Actor) -> Act[ClosedMonth]:
    return Act(
        f"months/{quote(month, safe='')}/close",
        ByHand(reason=reason, by=who.name),
        ClosedMonth,
        lambda core, now: core.close_month(month, reason=reason, actor=who, now=now),
    )


def _corrected(args: argparse.Namespace, site: Onsite, reason: str, who: Actor) -> Act[Correction]:
    if args.waive and (args.team or args.project):
        raise GpuCommonsError(_("what nobody pays has no team; leave --waive or --team away"))
    wanted = CorrectionWish(
        lease_id=LeaseId(args.lease),
        start=instant(args.start, zone_of(site), datetime.now(UTC)),
        team=None if args.team is None else TeamName(args.team),
        project=None if args.project is None else ProjectName(args.project),
        price_micro_per_hour=None if args.per_hour is None else parse_price(args.per_hour),
        waive=args.waive,
    )
    return Act(
        "corrections",
        CorrectByHand(reason=reason, by=who.name, wanted=wanted),
        Correction,
        lambda core, now: core.correct_charge(wanted, reason=reason, actor=who, now=now),
    )


def _show(sheet: MonthSheet) -> None:
    if sheet.closed:
        heads = (_("month"), _("charged"), _("closed"), _("by"), _("hash"))
        print_table([heads, *(_row(one, sheet.timezone) for one in sheet.closed)])
    else:
        print(_("no month is closed"))
    following = sheet.following
    if following is None:
        print(_("nothing was ever charged"))
        return
    print(_("next: {month}, {money}").format(month=following.name, money=_money(following.amounts)))
    for check in following.checks:
        mark = "ok" if check.ok else ("--" if check.blocks else "note")
        print(f"  {mark:<4} {check.words}")


def _row(one: ClosedMonth, zone: str) -> tuple[str, ...]:
    return one.name, _money(one.amounts), local_text(one.at, zone), one.by, one.digest[:12]


def _show_closed(month: ClosedMonth) -> None:
    print(
        _("{month} is closed: {money} in {n} charges, hash {digest}").format(
            month=month.name, money=_money(month.amounts), n=month.lines, digest=month.digest
        )
    )


def _show_corrected(made: Correction) -> None:
    where = _("closed; it stands in the open month") if made.closed else _("open")
    print(_("corrected a charge of {month} ({where}):").format(month=made.month, where=where))
    for line in made.lines:
        whose = line.project or line.team
        print(f"  {whose}: {money_text(line.amount_micro, line.currency)}")


def _money(amounts: tuple[Amount, ...]) -> str:
    return ", ".join(money_text(one.micro, one.currency) for one in amounts) or _("nothing")
