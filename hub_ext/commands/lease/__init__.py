"""`gpu-commons lease`: see the leases, and act on one by hand with a reason.

Where a governor lives it acts, asked with the command's own token; where none does, the command
takes its lock and does the same itself, without hub or network.
"""

import argparse

from ...i18n import _
from ..onsite import add_reason, add_verb
from .acting import act
from .reading import listing, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    every = add_verb(verbs, "list", _("list the open leases, oldest first"))
    every.add_argument("--team", help=_("those of one team"))
    every.add_argument("--user", help=_("those of one person"))
    one = add_verb(verbs, "show", _("show one lease, open or closed, with its events"))
    for parser_ in (every, one):
        parser_.add_argument("--json", action="store_true", help=_("as JSON"))
    close = add_verb(verbs, "close", _("stop its server; it closes when that is proved gone"))
    force = add_verb(
        verbs,
        "force-release",
        _("close it without proof that its server is gone; its devices are free at once"),
    )
    move = add_verb(verbs, "move", _("let another team or project hold it and pay from now on"))
    move.add_argument("--team", required=True, help=_("the team"))
    move.add_argument("--project", help=_("its project (default: the same, else its first)"))
    extend = add_verb(verbs, "extend", _("let it live longer than agreed at its start"))
    ends = extend.add_mutually_exclusive_group(required=True)
    ends.add_argument(
        "--until", metavar="TIME", help=_("2026-12-04T06:00 on the policy's clock, or with a zone")
    )
    ends.add_argument("--by", metavar="SPAN", help=_("so much longer than it has now: 90m, 4h, 2d"))
    for parser_ in (one, close, force, move, extend):
        parser_.add_argument("lease", metavar="ID", help=_("the lease's id, as `list` prints it"))
    grant = add_verb(verbs, "grant", _("open a lease for a server that runs without one"))
    _add_grant(grant)
    for parser_ in (close, force, move, extend, grant):
        add_reason(parser_)


def _add_grant(grant: argparse.ArgumentParser) -> None:
    grant.add_argument("server", metavar="USER[/SERVER]", help=_("whose, and which"))
    last = _("(default: as in its last lease)")
    grant.add_argument("--profile", help=f"{_('as which profile it counts')} {last}")
    grant.add_argument("--team", help=f"{_('which team holds it')} {last}")
    grant.add_argument("--project", help=_("which of the team's projects"))
    grant.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="ID",
        help=f"{_('a device that it holds; may be repeated')} {last}",
    )
    grant.add_argument("--pid", type=int, help=_("its process, where nothing else shows it"))


def run(args: argparse.Namespace) -> int:
    """Carry out one verb and return 0.

    Raises
    ------
    GpuCommonsError
        When it is refused, with the words of the refusal.
    """
    match args.verb:
        case "list":
            listing(args)
        case "show":
            show(args)
        case _:
            act(args)
    return 0
