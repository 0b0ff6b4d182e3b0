"""Puts another text into a file in one step, or says what would have to be changed by hand."""

import os
import stat
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

from ..i18n import _

_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def replace(path: Path, old: str, new: str) -> None:
    """Replace a file's text, keeping mode and owner; readers see the old or the new, never half.

    A link is followed, so that it goes on pointing where it did.

    Parameters
    ----------
    old
        What the file is believed to say; where it says something else by now, nothing is done.

    Raises
    ------
    OSError
        When it cannot be written here, or was made read-only on purpose.
    """
    real = path.resolve(strict=True)
    status = real.stat()
    # The rename would go through; a file without a write bit says that it is kept elsewhere.
    if not status.st_mode & _ANY_WRITE or not os.access(real, os.W_OK):
        raise PermissionError(_("it is read-only"))
    if real.read_bytes().decode("utf-8") != old:
        raise OSError(_("it was changed just now"))
    draft = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        _write(draft, new, status)
        draft.replace(real)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    _flush(real.parent)


def patch(old: str, new: str, old_name: str, new_name: str) -> str:
    """Tell what leads from one text to the other, as `patch` takes it."""
    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), old_name, new_name
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _write(draft: Path, text: str, like: os.stat_result) -> None:
    made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(made, "w", encoding="utf-8", newline="") as stream:
        if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(made, like.st_uid, like.st_gid)
        os.fchmod(made, stat.S_IMODE(like.st_mode))
        stream.write(text)
        stream.flush()
        os.fsync(made)


def _flush(folder: Path) -> None:
    """Make the rename itself durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
