"""The lock that lets one process write: an exclusive `flock` beside the ledger.

The kernel drops it when the process ends, however it ends; the pid inside is for words alone.
"""

import fcntl
import os
from pathlib import Path

from ..errors import LedgerError
from ..i18n import _


class GovernorLock:
    """An exclusive lock on one file, held until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> "GovernorLock":
        """Take the lock at once or not at all.

        Raises
        ------
        LedgerError
            When another process has it (named by its pid), or the file cannot be opened.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerError(
                _("{path} cannot be opened: {error}; the governor must own its directory").format(
                    path=path, error=error.strerror
                )
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise LedgerError(
                _(
                    "another governor, process {pid}, holds {path}; only one may write. "
                    "Stop that one first, or use another state directory"
                ).format(pid=holder or "?", path=path)
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return cls(descriptor)

    @staticmethod
    def holder(path: Path) -> int | None:
        """Pid of the process that has the lock; 0 where it cannot be told, None where none has."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # Shared and at once given back: two that only look do not see each other.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            pid = os.read(descriptor, 32).decode(errors="replace").strip()
            return int(pid) if pid.isdecimal() else 0
        finally:
            os.close(descriptor)
        return None

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
