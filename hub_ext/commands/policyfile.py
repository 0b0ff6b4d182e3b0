"""The policy file, for commands that change it: written in one step, or told as a patch.

Who did it and why is left for the governor, which makes the new generation of the file.
"""

import argparse
import hashlib
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from ..errors import GpuCommonsError
from ..i18n import _
from ..ledger.beside import reading
from ..service.rules.consent import Consent, leave
from .onsite import Onsite, actor, add_verb
from .replacing import patch, replace

_WAIT_S, _EVERY_S = 5.0, 0.1
"""How long a living governor is given to take a change; it looks once a second."""


def policy_verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, line: str
) -> argparse.ArgumentParser:
    """Declare one verb of a command that reads or changes the policy file."""
    parser = add_verb(verbs, name, line)
    parser.add_argument(
        "--policy", type=Path, metavar="FILE", help=_("policy file (default: the hub's)")
    )
    return parser


def named(file: Path | None) -> Path:
    """Take the file that was named or is known.

    Raises
    ------
    GpuCommonsError
        When neither is.
    """
    if file is None:
        raise GpuCommonsError(_("name the policy file with --policy"))
    return file


def text_of(file: Path) -> str:
    """Read a policy file as it stands.

    Raises
    ------
    GpuCommonsError
        When it cannot be read.
    """
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GpuCommonsError(
            _("{path} cannot be read: {error}").format(path=file, error=error)
        ) from error


def written(site: Onsite, path: Path, old: str, new: str, why: str) -> bool:
    """Put a new text into the file, with who and why beside it; else print the patch, say False."""
    try:
        leave_word(site, sum_of(new), why)
        replace(path, old, new)
    except OSError as error:
        sys.stdout.write(patch(old, new, path.name, path.name))
        sys.stderr.write(
            _(
                "{path} cannot be written here ({error}). Apply the patch above where it is kept."
            ).format(path=path, error=error.strerror or error)
            + "\n"
        )
        return False
    return True


def leave_word(site: Onsite, text_sha256: str, why: str) -> None:
    """Leave for the governor who wants this text in force, and why."""
    leave(
        site.state,
        Consent(sha256=text_sha256, reason=why, actor=actor(), at=datetime.now(UTC)),
    )


def tell_outcome(site: Onsite, text_sha256: str, before: int) -> None:
    """Say which generation a text became, where a living governor takes it soon."""
    if site.governor() is None:
        print(_("no governor runs; it comes into force when the hub starts"))
        return
    until = time.monotonic() + _WAIT_S
    while time.monotonic() < until:
        with reading(site.state, url=site.ledger_url) as tx:
            newest = tx.generation()
        if newest is not None and newest[0] > before and newest[2] == text_sha256:
            print(_("generation {n} is in force").format(n=newest[0]))
            return
        time.sleep(_EVERY_S)
    print(_("the governor has not taken it yet; /healthz and the admin page say why"))


def sum_of(text: str) -> str:
    """Name a text by its sum, as generations do."""
    return hashlib.sha256(text.encode()).hexdigest()
