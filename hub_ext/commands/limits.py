"""`gpu-commons limits USER`: every rule that binds a person, with its place in the policy.

Reads the ledger beside a living governor; asks nobody and changes nothing.
"""

import argparse
import json
from datetime import UTC, datetime

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Limit, LimitSheet, UserName
from ..ledger.beside import reading
from ..policy.catalogue import Person
from ..policy.load import loads
from ..service.books.budgeting import Budgets
from ..service.books.moving import Moves
from ..service.rules.limits import Money, sheet
from .columns import print_table
from .onsite import add_state, onsite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("user", metavar="USER", help=_("whose limits"))
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="GROUP",
        help=_("a hub group of that user; may be repeated (default: those of an open request)"),
    )
    parser.add_argument("--json", action="store_true", help=_("as JSON"))
    add_state(parser)


def run(args: argparse.Namespace) -> int:
    """Print the limits and return 0.

    Raises
    ------
    GpuCommonsError
        When there is no policy, or no group of the user is known.
    """
    site = onsite(args.state)
    now = datetime.now(UTC)
    with reading(site.state, url=site.ledger_url) as tx:
        newest, leases = tx.generation(), tx.leases()
        if newest is None:
            raise GpuCommonsError(_("no policy was ever in force here"))
        known = {group for one in leases if one.key.user == args.user for group in one.groups}
        groups = tuple(args.group) or tuple(sorted(known))
        if not groups:
            raise GpuCommonsError(
                _("{user} has nothing open here; name the hub groups with --group").format(
                    user=repr(args.user[:80])
                )
            )
        policy = Moves().over(tx, loads(newest[1]).policy, now)
        budgets = Budgets().now(tx, policy, newest[0], now)
    person = Person(user=UserName(args.user), groups=groups)
    found = sheet(policy, person, leases, Money(budgets), generation=newest[0], now=now)
    _show(found, as_json=args.json)
    return 0


def _show(found: LimitSheet, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found.model_dump(mode="json"), indent=2))
        return
    if not found.teams:
        print(_("{user} belongs to no team, so nothing can be started").format(user=found.user))
        return
    heads = (_("subject"), _("team"), _("rule"), _("in force"), _("in the policy"))
    print_table([heads, *(_row(one) for one in found.limits)])


def _row(one: Limit) -> tuple[str, ...]:
    return (one.subject, one.team or "-", one.words, one.in_force, one.origin)
