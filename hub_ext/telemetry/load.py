"""What a simulated GPU is told to show: the file that `gpu-commons busy` writes for one lease.

Its owner may write anything there, so reading never raises: rubbish is unknown, never quiet.
"""

import os
import re
import stat
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, ValidationError

from ..i18n import _
from ..lease import FaultSign, LeaseId, Value

MOST_BYTES = 4096
"""A load is a line of JSON; a larger file is none."""

_LEASE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Load(Value):
    """One load. None in a figure means that the simulated driver does not offer it."""

    version: Literal[1] = 1
    util_percent: Annotated[int, Field(ge=0, le=100)] | None
    memory_bytes: Annotated[int, Field(ge=0, le=2**60)] | None
    until: AwareDatetime
    beat_at: AwareDatetime
    """When its writer last said that it still runs."""
    beat_s: Annotated[float, Field(gt=0, le=60)]
    """How often it says so, in seconds."""
    writer: Annotated[int, Field(gt=0)]
    """Process that wrote it and takes it away."""
    fault: FaultSign | None = None
    """A fault that the simulated GPU shows while the load lasts."""


class Shown(Value):
    """What a simulated device shows; None with a reason in `absent`."""

    util_percent: int | None
    memory_bytes: int | None
    absent: str = ""
    fault: FaultSign | None = None


AT_REST = Shown(util_percent=0, memory_bytes=0)
"""Nobody asked the simulated GPU for anything: it measurably does nothing."""


def load_file(folder: Path, lease_id: LeaseId) -> Path | None:
    """Where the load of a lease is; None for an id that is no file name."""
    return folder / f"{lease_id}.json" if _LEASE_ID.fullmatch(lease_id) else None


def parse(content: bytes) -> Load | None:
    """Read a load; None for anything else."""
    try:
        return Load.model_validate_json(content)
    except ValidationError:
        return None


def read(path: Path) -> bytes | None:
    """Read a small regular file without ever blocking; None where there is none.

    Raises
    ------
    OSError
        When something is there that cannot be read as such a file.
    """
    try:
        # A user could leave a named pipe or a link here, and the agent would wait or wander.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > MOST_BYTES:
            raise OSError(_("it is no small regular file"))
        return stream.read(MOST_BYTES)


def shown(path: Path, now: datetime, period_s: float) -> Shown:
    """Tell what a device shows that is held by the lease whose load file is `path`.

    No file means at rest, as does a load whose end has passed. A load whose writer fell silent
    for three periods before its end is unknown: whoever wrote it may have died in the middle.
    """
    try:
        content = read(path)
    except OSError as error:
        return _unknown(_("the load file cannot be read: {why}").format(why=error))
    if content is None:
        if path.parent.is_dir():
            return AT_REST
        return _unknown(_("the simulated node's directory is gone"))
    load = parse(content)
    if load is None:
        return _unknown(_("the load file is damaged"))
    return _shown_by(load, now, period_s)


def _shown_by(load: Load, now: datetime, period_s: float) -> Shown:
    if now >= load.until:
        return AT_REST
    silent_s = abs(now - load.beat_at).total_seconds()
    if silent_s > 3 * max(period_s, load.beat_s):
        return _unknown(
            _("the load's writer fell silent {seconds} s ago").format(seconds=int(silent_s))
        )
    missing = load.util_percent is None or load.memory_bytes is None
    return Shown(
        util_percent=load.util_percent,
        memory_bytes=load.memory_bytes,
        absent=_("simulated as not offered by the driver") if missing else "",
        fault=load.fault,
    )


def _unknown(reason: str) -> Shown:
    return Shown(util_percent=None, memory_bytes=None, absent=reason)
