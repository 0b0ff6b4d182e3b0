"""`gpu-commons ledger verify | backup | restore | move`: for whoever keeps the books.

`verify` and `backup` work beside a living governor; the others are refused while one lives.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from ..errors import LedgerError
from ..i18n import _, ngettext
from ..ledger.backup import backup
from ..ledger.move import move
from ..ledger.places import FILE, Database, place
from ..ledger.postgres import PostgresDatabase
from ..ledger.restore import restore
from ..ledger.sqlite import SqliteFile
from ..ledger.verify import Found, examine
from ..statedir import StateDir
from .onsite import Onsite, add_state, onsite

ADDRESS = "GPU_COMMONS_LEDGER_URL"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs, each with the state directory."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, line in (
        ("verify", _("compare the ledger with what its events say; exit 1 with the difference")),
        ("backup", _("write the ledger into one file, beside a living governor, and verify it")),
        ("restore", _("bring a backup back; refused while a governor lives")),
        ("move", _("move the ledger from its file into a PostgreSQL and verify it there")),
    ):
        one = verbs.add_parser(verb, help=line, description=line)
        add_state(one)
        if verb == "verify":
            words = _("a backup instead of the ledger")
            one.add_argument("file", metavar="FILE", type=Path, nargs="?", help=words)
        if verb in {"backup", "restore"}:
            one.add_argument("file", metavar="FILE", type=Path, help=_("the backup"))
        if verb == "restore":
            words = _("move a ledger that is there aside")
            one.add_argument("--replace", action="store_true", help=words)
            words = _("into {file}, wherever the ledger is now").format(file=FILE)
            one.add_argument("--into-file", action="store_true", help=words)
        if verb == "move":
            words = _("address without a password (default: ${name})").format(name=ADDRESS)
            one.add_argument("--to", metavar="URL", help=words)


def run(args: argparse.Namespace) -> int:
    """Do it, print one line and return 0, or 1 where the ledger differs from its events.

    Raises
    ------
    LedgerError
        When it cannot be done; says why, and what to do.
    """
    match args.verb:
        case "backup":
            return _backup(onsite(args.state), args.file)
        case "restore":
            return _restore(args)
        case "move":
            return _move(onsite(args.state), args.to)
        case _verify:
            return _said(examine(_chosen(args)))


def _chosen(args: argparse.Namespace) -> Database:
    if args.file is not None:
        return SqliteFile(args.file)
    site = onsite(args.state)
    return place(site.state, site.ledger_url)


def _backup(site: Onsite, file: Path) -> int:
    found = backup(place(site.state, site.ledger_url), file)
    print(_("written to {file}").format(file=file))
    return _said(found)


def _restore(args: argparse.Namespace) -> int:
    if args.state is not None:
        StateDir(Path(args.state))
    site = onsite(args.state)
    url = None if args.into_file else site.ledger_url
    done = restore(site.state, url, args.file, replace=args.replace)
    if done.aside:
        print(_("the former ledger is now {aside}").format(aside=done.aside))
    return _said(done.found)


def _move(site: Onsite, to: str | None) -> int:
    target = PostgresDatabase.at(_address(site, to))
    found = move(site.state, target, now=datetime.now(UTC))
    print(
        _("moved to {address}; set {name} to that address before the governor starts").format(
            address=target.words, name=ADDRESS
        )
    )
    return _said(found)


def _address(site: Onsite, to: str | None) -> str:
    """Take the address from the command line, with the password from where nobody reads it."""
    known = site.ledger_url or ""
    if to is None:
        if not known:
            raise LedgerError(_("name the database with --to or ${name}").format(name=ADDRESS))
        return known
    asked = PostgresDatabase.at(to)
    if asked.has_password:
        raise LedgerError(
            _(
                "everybody on this machine can read a password on a command line. Change it, and "
                "keep it in ~/.pgpass or give the whole address in ${name}"
            ).format(name=ADDRESS)
        )
    return known if known and PostgresDatabase.at(known).is_at(asked) else to


def _said(found: Found) -> int:
    if found.difference:
        print(
            _("differs after {events} events: {difference}").format(
                events=found.events, difference=found.difference
            )
        )
        return 1
    events = ngettext("{n} event", "{n} events", found.events).format(n=found.events)
    leases = ngettext("{n} open lease", "{n} open leases", found.open_leases).format(
        n=found.open_leases
    )
    line = _("ok: {events}, {leases}; chain {chain}").format(
        events=events, leases=leases, chain=found.chain[:16]
    )
    print(f"{line}; {found.moved}" if found.moved else line)
    return 0
