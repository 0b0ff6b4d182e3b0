"""`gpu-commons policy`: the policies that were in force, and the way back to one of them.

Reads the ledger beside a living governor. It changes the policy file alone; the governor makes
the new generation of it.
"""

import argparse
import sys
from pathlib import Path

from ..errors import GpuCommonsError, PolicyError
from ..i18n import _
from ..lease import utc_text
from ..ledger.beside import reading
from ..ledger.generations import Generation
from ..policy.load import loads
from ..service.rules.accepting import LEAST_DIGITS
from .onsite import Onsite, add_reason, onsite, reason_of
from .policyfile import leave_word, named, policy_verb, sum_of, tell_outcome, text_of, written
from .replacing import patch

MOST = 10_000
"""Generations that are read at most; each is one edit of a file by a person."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = policy_verb(verbs, "history", _("list the policies that were in force, newest first"))
    listing.add_argument("--limit", type=int, default=20, help=_("at most so many (default 20)"))
    between = policy_verb(
        verbs, "diff", _("show what changed between generations, or from one to the file")
    )
    between.add_argument("old", type=int, nargs="?", metavar="N", help=_("default: in force"))
    between.add_argument("new", type=int, nargs="?", metavar="M", help=_("default: the file"))
    back = policy_verb(verbs, "rollback", _("put the text of a generation into the policy file"))
    back.add_argument("number", type=int, metavar="N", help=_("the generation to go back to"))
    add_reason(back)
    word = policy_verb(verbs, "accept", _("confirm a changed file that waits (apply: accept)"))
    word.add_argument("sha256", metavar="SHA", help=_("its SHA-256, 8 digits or more"))
    word.add_argument(
        "--reason", default=_("accepted on the command line"), help=_("why; recorded with it")
    )


def run(args: argparse.Namespace) -> int:
    """Carry out one verb; return 0, or 1 where the file has to be changed by hand.

    Raises
    ------
    GpuCommonsError
        When the state directory, a generation or the file is not there, or a text cannot be used.
    """
    site = onsite(args.state)
    file = args.policy or site.policy
    with reading(site.state, url=site.ledger_url) as tx:
        known = {one.number: one for one in tx.generations(MOST)}
    if not known:
        raise GpuCommonsError(_("no policy was ever in force here; start the hub once"))
    match args.verb:
        case "history":
            _list(list(known.values())[: args.limit], file)
        case "diff":
            _differ(known, args.old, args.new, file)
        case "rollback":
            return _roll_back(site, known, args.number, file, reason_of(args.reason))
        case _:
            _accept(site, known, args.sha256, file, reason_of(args.reason))
    return 0


def _list(generations: list[Generation], file: Path | None) -> None:
    for one in generations:
        print(f"{one.number:>4}  {utc_text(one.at)}  {one.sha256[:12]}  {one.actor.name}")
        for line in one.summary.splitlines():
            print(f"      {line}")
    text = text_of(file) if file is not None and file.is_file() else None
    if text is not None and text != generations[0].text:
        print(_("The file differs from generation {n}: ").format(n=generations[0].number), end="")
        print(f"gpu-commons policy {_next(generations[0], text)}")


def _next(newest: Generation, text: str) -> str:
    """Tell the command that leads on: it waits for a word, or it is looked at."""
    try:
        waits = loads(newest.text).policy.apply == "accept"
        loads(text)
    except PolicyError:
        return "diff"
    return f"accept {sum_of(text)[:12]}" if waits else "diff"


def _differ(
    known: dict[int, Generation], old: int | None, new: int | None, file: Path | None
) -> None:
    before = _generation(known, max(known) if old is None else old)
    if new is None:
        after, name = text_of(named(file)), str(file)
    else:
        after, name = _generation(known, new).text, _label(new)
    sys.stdout.write(patch(before.text, after, _label(before.number), name))


def _roll_back(
    site: Onsite, known: dict[int, Generation], number: int, file: Path | None, reason: str
) -> int:
    """Write the text; where that cannot be, print the patch and say so."""
    target = _generation(known, number)
    loads(target.text, name=_label(number))
    path = named(file)
    present = text_of(path)
    if present == target.text:
        print(_("{path} says what generation {n} said already").format(path=path, n=number))
        return 0
    why = _("back to generation {n}: {reason}").format(n=number, reason=reason)
    if not written(site, path, present, target.text, why):
        return 1
    print(_("{path} says what generation {n} said").format(path=path, n=number))
    tell_outcome(site, sum_of(target.text), max(known))
    return 0


def _accept(
    site: Onsite, known: dict[int, Generation], sha256: str, file: Path | None, reason: str
) -> None:
    text = text_of(named(file))
    found, newest = sum_of(text), known[max(known)]
    if len(sha256) < LEAST_DIGITS or not found.startswith(sha256.lower()):
        raise GpuCommonsError(
            _("the file's text is {found}, not {asked}; see `gpu-commons policy diff`").format(
                found=found[:12], asked=repr(sha256[:12])
            )
        )
    if text == newest.text:
        print(_("generation {n} is this text already").format(n=newest.number))
        return
    loads(text, name=str(file))
    try:
        leave_word(site, found, reason)
    except OSError as error:
        raise GpuCommonsError(
            _("{path} cannot be written: {error}; run this as the hub's user").format(
                path=site.state, error=error.strerror
            )
        ) from error
    tell_outcome(site, found, newest.number)


def _generation(known: dict[int, Generation], number: int) -> Generation:
    if number not in known:
        raise GpuCommonsError(
            _("there is no generation {n}; there are {first} to {last}").format(
                n=number, first=min(known), last=max(known)
            )
        )
    return known[number]


def _label(number: int) -> str:
    return _("generation {n}").format(n=number)
