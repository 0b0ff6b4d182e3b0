"""A machine's control groups in a folder, of v1, v2 or both, and the `/proc` that leads there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

V1 = ("cpu", "cpuacct", "memory", "blkio")

QUIET = {
    "cpu.stat": "usage_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
    "memory.current": "0\n",
    "memory.max": "max\n",
    "memory.stat": "anon 0\ninactive_file 0\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\n",
    "io.stat": "",
    **{f"{name}.pressure": "some avg10=0.00 total=0\n" for name in ("cpu", "io", "memory")},
}
"""Files of a group of v2 in which nothing has happened yet."""


class CgroupTree:
    """Groups and processes that a test makes, moves and takes away."""

    def __init__(self, folder: Path, kind: Literal["v1", "v2", "hybrid"]) -> None:
        self.root, self.proc = folder / "cgroup", folder / "proc"
        self.kind = kind
        self.tops = [self.root] if kind == "v2" else [self.root / name for name in V1]
        if kind == "hybrid":
            self.tops.append(self.root / "unified")
        for top in self.tops:
            top.mkdir(parents=True, exist_ok=True)
        self.proc.mkdir()
        if kind != "v1":
            (self.tops[-1] / "cgroup.controllers").write_text("cpu io memory\n")

    def put(self, group: str, *pids: int) -> None:
        """Make a group with processes in it."""
        for top in self.tops:
            folder = top / group.lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
        for pid in pids:
            self.seen_at(pid, group)

    def seen_at(self, pid: int, path: str) -> None:
        """Let a process's own file tell a path, as a namespace may tell another one than is."""
        rows = [f"{number}:{name}:{path}" for number, name in enumerate(V1, start=2)]
        rows = [] if self.kind == "v2" else [*rows, f"1:name=systemd:{path}"]
        rows += [] if self.kind == "v1" else [f"0::{path}"]
        (self.proc / str(pid)).mkdir(exist_ok=True)
        (self.proc / str(pid) / "cgroup").write_text("\n".join(rows) + "\n")

    def write(self, group: str, files: Mapping[str, str], *, tree: str = "") -> None:
        """Write what a group counts, in one tree."""
        folder = self.root / tree / group.lstrip("/")
        for name, text in files.items():
            (folder / name).write_text(text)
