"""Batches that the governor did not take, kept on disk for an hour and handed over in order.

One file a batch, put in place by a rename: a crash loses the one that is being written, never
another. It is bounded in time and in bytes; the oldest go first, and that is said.
"""

import logging
import re
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from ..i18n import _
from ..lease import SampleBatch
from ..units import instant_us

LOG = logging.getLogger("gpu_commons.agent")

KEPT = timedelta(hours=1)
"""How long a batch is worth handing over; a longer gap is better looked at by a person."""

BYTES = 64 * 2**20
"""Most that is kept: an hour of 56 MIG devices every 10 seconds is about 6 MiB."""

ASIDE = "refused"
"""Folder in the outbox with the newest batches that the governor refused for good."""

ASIDE_KEPT = 20
"""So many are kept for whoever wants to know why; they are never handed over."""

_NAME = re.compile(r"(\d{20})-.*\.json")
_HALF = ".half"


class Outbox:
    """Batches in a folder, oldest first; used by one agent.

    Parameters
    ----------
    folder
        Where they lie; made when the first batch comes. Nobody else may write there.
    limit_bytes
        Most that all of them may have.
    """

    def __init__(self, folder: Path, *, limit_bytes: int = BYTES) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._mute = False

    def put(self, batch: SampleBatch) -> None:
        """Keep a batch; where the disk refuses, that is said once and the batch is gone."""
        try:
            _write(self._folder, batch.model_copy(update={"late": True}))
        except OSError as error:
            if not self._mute:
                words = _("Readings cannot be kept for the governor's return in {folder}: {why}")
                LOG.warning("%s", words.format(folder=self._folder, why=error.strerror or error))
            self._mute = True
            return
        self._mute = False
        self._bound(batch.sent_at)

    def set_aside(self, batch: SampleBatch) -> Path | None:
        """Keep a batch that was refused for good, to be looked at; None where it is not kept."""
        folder = self._folder / ASIDE
        try:
            path = _write(folder, batch)
            for old in sorted(folder.glob("*.json"))[:-ASIDE_KEPT]:
                old.unlink(missing_ok=True)
        except OSError:
            return None
        return path

    def oldest(self, now: datetime) -> tuple[Path, SampleBatch] | None:
        """Give the batch that is to be handed over next, and the file to `drop` then."""
        self._bound(now)
        for path in self._files():
            try:
                return path, SampleBatch.model_validate_json(path.read_bytes())
            except (OSError, ValidationError) as error:
                words = _("Dropped {file}, which is no batch of readings: {why}")
                LOG.warning("%s", words.format(file=path, why=str(error).splitlines()[0]))
                self.drop(path)
        return None

    def drop(self, path: Path) -> None:
        """Forget a batch that was taken."""
        path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(one for one in self._folder.iterdir() if _NAME.fullmatch(one.name))

    def _bound(self, now: datetime) -> None:
        """Take away what is too old, then the oldest until the rest is small enough."""
        first = f"{max(0, instant_us(now - KEPT)):020d}"
        files = [(one, one.stat().st_size) for one in self._files()]
        room = sum(size for _path, size in files) - self._limit_bytes
        dropped = 0
        for path, size in files:
            if path.name >= first and room <= 0:
                break
            self.drop(path)
            room, dropped = room - size, dropped + 1
        if dropped:
            words = _(
                "Dropped the {count} oldest batches of readings that the governor never took: "
                "at most an hour and {limit} MiB are kept. That time stays unknown."
            )
            LOG.warning("%s", words.format(count=dropped, limit=self._limit_bytes // 2**20))


def _write(folder: Path, batch: SampleBatch) -> Path:
    """Put a batch into a folder of its own, whole or not at all.

    Raises
    ------
    OSError
        The disk refuses.
    """
    at = f"{instant_us(batch.sent_at):020d}"
    # A node's name is free text to us: only what is harmless in a file's name gets into it.
    name = f"{at}-{re.sub('[^A-Za-z0-9.-]', '_', batch.node)[:100]}.json"
    half = folder / (name + _HALF)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    half.write_text(batch.model_dump_json())
    return half.replace(folder / name)
