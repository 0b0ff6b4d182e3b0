"""What one node is told when it starts, in a JSON file."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOM = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "10Gi"}


@dataclass(frozen=True)
class Settings:
    """One node.

    Attributes
    ----------
    folder
        Home directories and outputs of its pods.
    net
        First two parts of its pods' addresses, for example `127.77`.
    resources
        What it offers beside CPU and memory, for example `{"nvidia.com/gpu": "2"}`.
    images
        Command of an image, for pods that name none; other images have no command.
    path
        Search path of the processes.
    socket
        Where it tells which pod holds which device, as a kubelet does; empty tells nobody.
    """

    kubeconfig: str
    name: str
    folder: str
    net: str
    resources: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    images: Mapping[str, Sequence[str]] = field(default_factory=dict)
    path: str = field(default_factory=lambda: os.environ["PATH"])
    heartbeat_s: float = 2.0
    socket: str = ""

    @property
    def capacity(self) -> dict[str, str]:
        """All that the node offers."""
        return {**ROOM, **self.resources}

    def write(self, file: Path) -> None:
        """Write them for the node's process."""
        file.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, file: Path) -> "Settings":
        """Read what `write` wrote."""
        written: dict[str, Any] = json.loads(file.read_text())
        return cls(**written)
