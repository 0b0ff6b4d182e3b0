"""Starts process nodes on a control plane, and makes them and their pods fail."""

import itertools
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from .api import Manifest
from .kubelet import faults
from .kubelet.settings import Settings
from .nodes import takes_pods
from .plane import ControlPlane
from .processes import ROOT

GPUS = {"nvidia.com/gpu": "2", "nvidia.com/mig-1g.10gb": "2"}
"""What a node offers unless told otherwise."""

PORT = 10250
"""A kubelet's own; whoever holds it in a net of loopback has that net to itself."""

_numbers = itertools.count(1)


@dataclass
class Kubelet:
    """A running process node."""

    plane: ControlPlane
    settings: Settings

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.settings.name

    @classmethod
    @contextmanager
    def running(
        cls,
        plane: ControlPlane,
        name: str = "",
        *,
        resources: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        images: Mapping[str, Sequence[str]] | None = None,
    ) -> Iterator["Kubelet"]:
        """Run a node for the length of a `with` block, from taking pods to being gone."""
        name = name or f"process-{os.getpid()}-{next(_numbers)}"
        # A socket's path may have a hundred letters, and the folder of a test has more.
        with _own_net() as net, TemporaryDirectory(prefix="kubelet-") as short:
            settings = Settings(
                kubeconfig=str(plane.kubeconfig),
                name=name,
                folder=str(plane.folder / f"pods-{name}"),
                net=net,
                resources=GPUS if resources is None else resources,
                labels=labels or {},
                taints=taints,
                images=images or {},
                socket=f"{short}/kubelet.sock",
                path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            )
            node = cls(plane, settings)
            node.start()
            try:
                yield node
            finally:
                node.end()
                plane.api.delete(node.path)

    def start(self) -> None:
        """Start it, for example after `end`, and wait until it takes pods."""
        told = self.plane.folder / f"{self.name}.json"
        self.settings.write(told)
        self.plane.processes.start(
            self._program,
            *(sys.executable, "-m", "tests.controlplane.kubelet", told),
            environment={"PYTHONPATH": str(ROOT)},
        )

        def ready() -> bool:
            node = self.plane.api.find(self.path)
            return node is not None and takes_pods(node)

        self.plane.processes.wait(self._program, ready, seconds=60)

    def end(self) -> None:
        """End it with all its processes; the node's object stays and becomes not ready."""
        self.plane.processes.end_politely(self._program)

    @property
    def path(self) -> str:
        """Address of the node's object."""
        return f"/api/v1/nodes/{self.name}"

    def fail(self, pod: str, fault: str) -> None:
        """Make a pod (its address) fail in a way of `kubelet.faults`; empty: let it be well."""
        self.plane.api.patch(pod, {"metadata": {"annotations": {faults.ANNOTATION: fault or None}}})

    def lose(self) -> None:
        """Let the node fall silent; its processes go on."""
        self.fail(self.path, faults.LOST)

    def find_again(self) -> None:
        """Let a lost node speak again."""
        self.fail(self.path, "")

    def output(self, pod: Manifest, container: str) -> str:
        """What a container of a pod has written."""
        meta = pod["metadata"]
        home = Path(self.settings.folder, meta["namespace"], f"{meta['name']}.{meta['uid'][:8]}")
        log = home / f"{container}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    @property
    def _program(self) -> str:
        return f"kubelet-{self.name}"


@contextmanager
def _own_net() -> Iterator[str]:
    """Find a net of loopback whose addresses nobody else's pods have."""
    for second in range(20, 250):
        with socket.socket() as holder:
            try:
                holder.bind((f"127.{second}.0.1", PORT))
            except OSError:
                continue
            yield f"127.{second}"
            return
    raise AssertionError("every net of loopback is taken")
