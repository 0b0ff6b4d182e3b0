"""`gpu-commons keep`: let somebody of a team keep servers for longer than the policy does.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse
import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Actor, TeamName, UserName, local_text
from ..lease.keeping import KeepGrant, KeepGrantSheet
from ..ledger.beside import reading
from ..policy.load import loads
from ..service.api.keeps import GrantKeep
from ..service.books.keepbook import KeepBook
from ..service.reclaim.keepgrants import MOST_S, KeepWish
from ..units import duration_text, parse_duration
from .acts import Act, carry_out
from .columns import print_table
from .instants import instant, zone_of
from .onsite import Onsite, actor, add_reason, add_verb, onsite, reason_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list the grants of a team that hold"))
    every.add_argument("--json", action="store_true", help=_("as JSON"))
    grant = add_verb(verbs, "grant", _("let a person keep servers of the team for longer"))
    for one in (every, grant):
        one.add_argument("team", metavar="TEAM", help=_("the team"))
    grant.add_argument("user", metavar="USER", help=_("who may"))
    grant.add_argument(
        "more",
        metavar="SPAN",
        help=_("how much more, of one server and within seven days: 8h; 0s ends a grant"),
    )
    ends = grant.add_mutually_exclusive_group(required=True)
    ends.add_argument(
        "--until",
        metavar="TIME",
        help=_("when it ends: 2026-12-04T06:00 on the policy's clock, or with a zone"),
    )
    ends.add_argument("--for", dest="span", metavar="SPAN", help=_("how long it holds: 2d, 7d"))
    add_reason(grant)


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    site, now = onsite(args.state), datetime.now(UTC)
    if args.verb == "list":
        _show(_read(site, args.team, now), as_json=args.json)
        return 0
    more_s = parse_duration(args.more) // timedelta(seconds=1)
    if more_s > MOST_S:
        most = duration_text(timedelta(seconds=MOST_S))
        raise GpuCommonsError(_("a grant adds at most {most}; grant less").format(most=most))
    zone = zone_of(site)
    until = now + parse_duration(args.span) if args.span else instant(args.until, zone, now)
    wanted = KeepWish(user=UserName(args.user), more_s=more_s, until=until)
    done = carry_out(site, _granted(args.team, wanted, reason_of(args.reason), actor()))
    _show(done.value, as_json=False)
    return 0


def _read(site: Onsite, team: str, now: datetime) -> KeepGrantSheet:
    with reading(site.state, url=site.ledger_url) as tx:
        newest = tx.generation()
        policy = None if newest is None else loads(newest[1]).policy
        if policy is None or team not in policy.teams:
            raise GpuCommonsError(_("the policy has no team {team}").format(team=repr(team[:80])))
        holding = KeepBook().holding(tx, TeamName(team), now)
    return KeepGrantSheet(at=now, timezone=policy.timezone, team=TeamName(team), grants=holding)


def _granted(team: str, wanted: KeepWish, reason: str, who: Actor) -> Act[KeepGrantSheet]:
    return Act(
        f"teams/{quote(team, safe='')}/keeps",
        GrantKeep(reason=reason, by=who.name, wanted=wanted),
        KeepGrantSheet,
        lambda core, now: core.grant_keep(team, wanted, reason=reason, actor=who, now=now),
    )


def _show(sheet: KeepGrantSheet, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(sheet.model_dump(mode="json"), indent=2))
    elif not sheet.grants:
        print(_("team {team} grants nobody more than the policy").format(team=sheet.team))
    else:
        heads = (_("person"), _("more"), _("until"), _("by"), _("reason"))
        print_table([heads, *(_row(one, sheet.timezone) for one in sheet.grants)])


def _row(one: KeepGrant, zone: str) -> tuple[str, ...]:
    more = duration_text(timedelta(seconds=one.more_s))
    return one.user, more, local_text(one.until, zone), one.by, one.reason
