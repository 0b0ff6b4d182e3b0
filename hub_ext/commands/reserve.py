"""`gpu-commons reserve`: see reservations, make one for somebody, call one off.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse
import json
from datetime import date, datetime
from urllib.parse import quote

from pydantic import ValidationError

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Actor, When
from ..lease.reserving import Reservation, ReservationWish
from ..ledger.beside import reading
from ..service.api.reservations import CallOff, Skip
from ..service.basis.access import CLI_NAME, Caller
from ..units import duration_text, gpus_text, parse_duration
from .acts import Act, carry_out
from .columns import print_table
from .onsite import actor, add_verb, onsite

SERVICE = Caller(kind="service", name=CLI_NAME, admin=True)
"""As whom the command acts: an administrator, whose name is recorded beside it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list the reservations that are not over"))
    every.add_argument("--team", help=_("those of one team"))
    every.add_argument("--user", help=_("those of one person"))
    every.add_argument("--json", action="store_true", help=_("as JSON"))
    make = add_verb(verbs, "make", _("reserve GPUs for somebody, for a time to come"))
    make.add_argument(
        "server", metavar="USER[/SERVER]", help=_("whose, and which of their servers")
    )
    make.add_argument("--team", required=True, help=_("whose quota it lies in"))
    make.add_argument("--profile", required=True, help=_("what is reserved"))
    make.add_argument("--project", help=_("which of the team's projects (default: its first)"))
    make.add_argument(
        "--from",
        dest="starts",
        required=True,
        metavar="TIME",
        help=_("when it begins, on the clock of the zone: 2026-12-04T09:00"),
    )
    ends = make.add_mutually_exclusive_group(required=True)
    ends.add_argument("--until", metavar="TIME", help=_("when it ends, on the same clock"))
    ends.add_argument("--for", dest="span", metavar="SPAN", help=_("how long: 90m, 4h"))
    make.add_argument("--zone", help=_("time zone (default: the policy's)"))
    make.add_argument("--weekly-until", metavar="DAY", help=_("each week, at last on this day"))
    make.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="DAY",
        help=_("a day on which it does not start; may be repeated"),
    )
    make.add_argument("--alone", choices=("gpu", "node"), help=_("share it with nobody"))
    make.add_argument("--start", action="store_true", help=_("start the server at its beginning"))
    make.add_argument("--reason", default="", help=_("what it is for"))
    skip = add_verb(verbs, "skip", _("leave one time of a weekly one out"))
    skip.add_argument("id", metavar="ID", help=_("its id, as `list` prints it"))
    skip.add_argument("day", metavar="DAY", help=_("the day on which that time starts"))
    cancel = add_verb(verbs, "cancel", _("call one off, with all its times to come"))
    cancel.add_argument("id", metavar="ID", help=_("its id, as `list` prints it"))


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    site = onsite(args.state)
    if args.verb == "list":
        with reading(site.state, url=site.ledger_url) as tx:
            every = tx.reservations()
        _list([one for one in every if _chosen(one, args)], as_json=args.json)
        return 0
    who = actor()
    if args.verb == "make":
        one = carry_out(site, _made(args, who)).value
        print(_("reservation {id} is made: {words}").format(id=one.id, words=_when(one)))
    elif args.verb == "skip":
        one = carry_out(site, _skipped(args.id, _day(args.day), who)).value
        print(_("reservation {id} now: {words}").format(id=one.id, words=_when(one)))
    else:
        one = carry_out(site, _called_off(args.id, who)).value
        print(_("reservation {id} is called off").format(id=one.id))
    return 0


def _made(args: argparse.Namespace, who: Actor) -> Act[Reservation]:
    user, _slash, server = args.server.partition("/")
    starts = _wall(args.starts)
    try:
        wish = ReservationWish(
            profile=args.profile,
            team=args.team,
            project=args.project,
            user=user,
            server=server,
            starts=starts,
            ends=starts + parse_duration(args.span) if args.span else _wall(args.until),
            zone=args.zone,
            weekly_until=_day(args.weekly_until) if args.weekly_until else None,
            skipped=tuple(_day(day) for day in args.skip),
            alone=args.alone,
            when=When.start if args.start else When.hold,
            reason=args.reason,
            by=who.name,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise GpuCommonsError(f"{first['loc'][0]}: {first['msg']}") from error
    return Act(
        "reservations", wish, Reservation, lambda core, now: core.reserve(wish, SERVICE, now=now)
    )


def _skipped(wanted: str, day: date, who: Actor) -> Act[Reservation]:
    return Act(
        f"reservations/{quote(wanted, safe='')}/skip",
        Skip(day=day, by=who.name),
        Reservation,
        lambda core, now: core.skip_reservation(wanted, day, SERVICE, by=who.name, now=now),
    )


def _called_off(wanted: str, who: Actor) -> Act[Reservation]:
    return Act(
        f"reservations/{quote(wanted, safe='')}/cancel",
        CallOff(by=who.name),
        Reservation,
        lambda core, now: core.cancel_reservation(wanted, SERVICE, by=who.name, now=now),
    )


def _wall(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise GpuCommonsError(
            _("{text} is no time of a wall clock; write for example 2026-12-04T09:00").format(
                text=repr(text[:40])
            )
        )
    return found


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise GpuCommonsError(
            _("{text} is no day; write for example 2026-12-18").format(text=repr(text[:40]))
        ) from None


def _chosen(one: Reservation, args: argparse.Namespace) -> bool:
    return args.team in {None, one.team} and args.user in {None, one.key.user}


def _list(found: list[Reservation], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([one.model_dump(mode="json") for one in found], indent=2))
    elif not found:
        print(_("nothing is reserved"))
    else:
        heads = (_("id"), _("server"), _("team"), _("pool"), _("GPUs"), _("when"), _("for what"))
        print_table([heads, *(_row(one) for one in found)])


def _row(one: Reservation) -> tuple[str, ...]:
    return (
        one.id,
        str(one.key),
        one.team,
        one.pool,
        gpus_text(one.units),
        _when(one),
        one.reason or "-",
    )


def _when(one: Reservation) -> str:
    words = _("{start:%Y-%m-%d %H:%M} for {span}, {zone}").format(
        start=one.starts, span=duration_text(one.ends - one.starts), zone=one.zone
    )
    if one.weekly_until is None:
        return words
    words = _("{words}, weekly until {day}").format(words=words, day=one.weekly_until)
    if not one.skipped:
        return words
    days = ", ".join(str(day) for day in one.skipped)
    return _("{words}, but not on {days}").format(words=words, days=days)
