"""CPU and memory limits by cgroup v2, where the machine delegates one to the hub.

No substitute is tried elsewhere: limiting address space breaks CUDA and Node, and pinning to
cores is no limit. What is not enforced is said on the form.
"""

import os
from contextlib import suppress
from pathlib import Path

from hub_ext.lease import AttemptId

_NEEDED = frozenset({"cpu", "memory"})
_PERIOD_US = 100_000


class Cgroup:
    """A cgroup v2 directory below which this process may make groups for servers.

    Parameters
    ----------
    path
        The delegated directory, for example that of a systemd service with `Delegate=yes`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def usable(self) -> bool:
        """Whether groups with CPU and memory limits can be made here. Enables both if need be."""
        try:
            offered = set((self.path / "cgroup.controllers").read_text().split())
            if not offered >= _NEEDED or not os.access(self.path, os.W_OK):
                return False
            switch = self.path / "cgroup.subtree_control"
            if not set(switch.read_text().split()) >= _NEEDED:
                switch.write_text("+cpu +memory")
        except OSError:
            return False
        return True

    def make(self, attempt_id: AttemptId, cpu_millis: int, memory_bytes: int) -> Path:
        """Make a group with limits for one server.

        Raises
        ------
        OSError
            When the kernel refuses it; nothing is left behind then.
        """
        group = self._of(attempt_id)
        group.mkdir(exist_ok=True)
        try:
            (group / "memory.max").write_text(str(memory_bytes))
            (group / "cpu.max").write_text(f"{cpu_millis * _PERIOD_US // 1000} {_PERIOD_US}")
        except OSError:
            with suppress(OSError):
                group.rmdir()
            raise
        return group

    def remove(self, attempt_id: AttemptId) -> None:
        """Remove a server's group; one that still holds processes stays."""
        with suppress(OSError):
            self._of(attempt_id).rmdir()

    def _of(self, attempt_id: AttemptId) -> Path:
        return self.path / f"gpu-commons-{attempt_id}"


def join(group: Path) -> None:
    """Put the calling process into a group; for the child between fork and exec."""
    (group / "cgroup.procs").write_text("0")
