"""What a command writes: to a file that is whole or not there, or to standard output."""

import sys
from pathlib import Path

from ..errors import GpuCommonsError
from ..i18n import _


def write(text: str, target: Path | None) -> None:
    """Write a text.

    Raises
    ------
    GpuCommonsError
        When the file cannot be written.
    """
    if target is None:
        sys.stdout.write(text)
        return
    beside = target.with_name(f".{target.name}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(target)
    except OSError as error:
        raise GpuCommonsError(
            _("{path} cannot be written: {why}").format(path=target, why=error.strerror)
        ) from error
