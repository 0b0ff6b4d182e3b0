"""Who may write into a prefix. Measuring a pin runs the prefix's own Python as the governor's user.

So whoever may write there would run anything as that user; a prefix of others is never asked.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from grp import getgrgid
from pathlib import Path

from ..errors import UnpinnableError
from ..i18n import _


def check_writers(prefix: Path) -> None:
    """Pass where nobody but root and this process's user may write what its Python runs.

    Looked at are the prefix, `bin`, the executable behind `bin/python`, the library's
    directories, and what runs at each start of a Python: `pyvenv.cfg`, `*.pth`, `sitecustomize`.

    Raises
    ------
    UnpinnableError
        With the first place that others may write, and what to do.
    """
    for place in _run_places(prefix):
        with suppress(FileNotFoundError):
            if writers := _other_writers(place):
                raise UnpinnableError(
                    _(
                        "{place} can be written by {writers}, and measuring an environment runs "
                        "its Python as the user {user}. Give it to {user} or root alone "
                        "(chown, chmod go-w)."
                    ).format(place=place, writers=writers, user=_name(os.geteuid()))
                )


def _run_places(prefix: Path) -> Iterator[Path]:
    yield from (prefix, prefix / "bin", (prefix / "bin" / "python").resolve())
    yield from (prefix / "pyvenv.cfg", prefix / "lib")
    for library in prefix.glob("lib/python*"):
        site = library / "site-packages"
        yield from (library, site, site / "sitecustomize.py", *site.glob("*.pth"))


def _other_writers(place: Path) -> str:
    """Name who else may write a place; empty where nobody may."""
    seen = place.stat()
    if seen.st_uid not in {0, os.geteuid()}:
        return _("its owner, {user}").format(user=_name(seen.st_uid))
    if seen.st_mode & stat.S_IWOTH:
        return _("everybody")
    if seen.st_mode & stat.S_IWGRP and not _private(seen.st_gid, seen.st_uid):
        return _("group {gid}").format(gid=seen.st_gid)
    return ""


def _private(gid: int, uid: int) -> bool:
    """Whether a group is its owner alone: root's, or the one that many systems make per user."""
    if gid == 0:
        return True
    try:
        group = getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == _name(uid) and set(group.gr_mem) <= {group.gr_name}


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
