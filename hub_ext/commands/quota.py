"""`gpu-commons quota`: shares of a team's projects, and quota moved between them, with a reason.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse
import json
from datetime import UTC, date, datetime
from urllib.parse import quote

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Actor, MoveRow, MoveSheet, PoolName, ProjectName, ShareRow
from ..ledger.beside import reading
from ..policy.load import loads
from ..service.api.sharing import MoveQuota
from ..service.books.moving import Moves, sheet
from ..units import Units, quota_text
from .acts import Act, carry_out
from .columns import print_table
from .onsite import Onsite, actor, add_reason, add_verb, onsite, reason_of

REST = "-"
"""Stands for what a team has not shared out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list the shares of a team's projects and the moves"))
    every.add_argument("--json", action="store_true", help=_("as JSON"))
    move = add_verb(verbs, "move", _("move quota from one project of a team to another"))
    for one in (every, move):
        one.add_argument("team", metavar="TEAM", help=_("the team"))
    move.add_argument("pool", metavar="POOL", help=_("of which pool"))
    move.add_argument("gpus", metavar="GPUS", help=_("how many GPUs, as in the policy: 1, 0.5"))
    whom = _("a project, or - for what the team has not shared out")
    move.add_argument("--from", dest="giver", required=True, metavar="PROJECT", help=whom)
    move.add_argument("--to", dest="taker", required=True, metavar="PROJECT", help=whom)
    move.add_argument("--first-day", metavar="DAY", help=_("from which day on (default: today)"))
    move.add_argument("--until", metavar="DAY", help=_("first day on which it no longer holds"))
    add_reason(move)


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    site = onsite(args.state)
    if args.verb == "list":
        _show(_read(site, args.team, datetime.now(UTC)), as_json=args.json)
        return 0
    done = carry_out(site, _wanted(args, reason_of(args.reason), actor()))
    _show(done.value, as_json=False)
    return 0


def _read(site: Onsite, team: str, now: datetime) -> MoveSheet:
    with reading(site.state, url=site.ledger_url) as tx:
        newest = tx.generation()
        policy = None if newest is None else loads(newest[1]).policy
        if policy is None or team not in policy.teams:
            raise GpuCommonsError(_("the policy has no team {team}").format(team=repr(team[:80])))
        return sheet(tx, Moves(), policy, team, now)


def _wanted(args: argparse.Namespace, reason: str, who: Actor) -> Act[MoveSheet]:
    said = MoveQuota(
        reason=reason,
        by=who.name,
        pool=PoolName(args.pool),
        from_project=_project(args.giver),
        to_project=_project(args.taker),
        gpus=args.gpus,
        first_day=_day(args.first_day),
        until=_day(args.until),
    )
    return Act(
        f"teams/{quote(args.team, safe='')}/moves",
        said,
        MoveSheet,
        lambda core, now: core.move_quota(
            args.team, said.wanted(), reason=reason, actor=who, now=now
        ),
    )


def _project(name: str) -> ProjectName | None:
    return None if name == REST else ProjectName(name)


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise GpuCommonsError(
            _("{text} is no day; write for example 2026-12-01").format(text=repr(text[:40]))
        ) from None


def _show(found: MoveSheet, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found.model_dump(mode="json"), indent=2))
        return
    heads = (_("pool"), _("project"), _("by the policy"), _("today"))
    print_table([heads, *(_share(one) for one in found.shares)])
    if not found.moves:
        print(_("no quota was moved"))
        return
    print()
    heads_of_moves = (
        _("pool"),
        _("GPUs"),
        _("from"),
        _("to"),
        _("first day"),
        _("until"),
        _("state"),
        _("by"),
        _("reason"),
    )
    print_table([heads_of_moves, *(_move(one) for one in found.moves)])


def _share(one: ShareRow) -> tuple[str, ...]:
    return (
        one.pool,
        one.project or REST,
        quota_text(Units(one.policy_units)),
        quota_text(Units(one.units)),
    )


def _move(one: MoveRow) -> tuple[str, ...]:
    move = one.move
    return (
        move.pool,
        quota_text(Units(move.units)),
        move.from_project or REST,
        move.to_project or REST,
        move.first_day.isoformat(),
        move.until.isoformat() if move.until else REST,
        f"{one.state}: {one.words}" if one.words else one.state,
        move.by,
        move.reason,
    )
