"""One pod, from its first sight to its last report."""

import asyncio
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from . import environ, faults
from .client import MERGE, STRATEGIC, Client, Manifest
from .container import Container
from .devices import Devices
from .objects import annotation, event, pod_status, stamp
from .settings import Settings

GONE, CONFLICT, FORBIDDEN = 404, 409, 403
PUT_OUT = "The node was low on resource: memory."


class Pod:
    """A pod of one node; it begins when it is made, and `update` tells it what is new.

    Parameters
    ----------
    devices
        The node's; what is the pod's own is shown to it as NVIDIA's toolkit would.

    Raises
    ------
    NoDeviceError
        If it asks for more than are free.
    """

    def __init__(
        self,
        client: Client,
        settings: Settings,
        manifest: Manifest,
        address: str,
        devices: Devices,
    ) -> None:
        meta = manifest["metadata"]
        self.uid: str = meta["uid"]
        self.policy: str = manifest["spec"].get("restartPolicy", "Always")
        self.home = Path(settings.folder) / meta["namespace"] / f"{meta['name']}.{self.uid[:8]}"
        self.home.mkdir(parents=True, exist_ok=True)
        self._client, self._settings, self._manifest = client, settings, manifest
        self._address, self._began = address, stamp()
        self._devices, self._shown = devices, devices.take(manifest)
        self._path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        spec = manifest["spec"]
        first = spec.get("initContainers") or []
        self._first = [Container(one, self, self._prepare, shown=False) for one in first]
        self._containers = [Container(one, self, self._prepare) for one in spec["containers"]]
        self._deletion: asyncio.Task[None] | None = None
        self._life = asyncio.create_task(self._live())
        self._life.add_done_callback(self._ended)
        self.update(manifest)

    # --- what the node says to it ----------------------------------------------------------------

    def update(self, manifest: Manifest) -> None:
        """Take note of a changed object: a fault, or that it is to go."""
        self._manifest = manifest
        if self.fault in {faults.MEMORY, faults.EVICTED}:
            self.signal(signal.SIGKILL)
        going = manifest["metadata"].get("deletionTimestamp") and self.fault != faults.STUCK
        if going and self._deletion is None:
            grace_s = manifest["metadata"].get("deletionGracePeriodSeconds", 30)
            self._deletion = asyncio.create_task(self._delete(grace_s))

    def signal(self, number: signal.Signals) -> None:
        """Send all its processes a signal."""
        for container in (*self._first, *self._containers):
            container.signal(number)

    # --- what its containers ask of it -----------------------------------------------------------

    @property
    def fault(self) -> str:
        """What is made to fail now."""
        return annotation(self._manifest, faults.ANNOTATION)

    @property
    def ending(self) -> bool:
        """Whether nothing is started again."""
        return self._deletion is not None

    async def tell(self, phase: str, **more: str) -> None:
        """Write its state, unless it is gone or another pod has its name."""
        states = [one.status for one in self._containers]
        status = pod_status(phase, self._address, self._began, states, **more)
        body = {"metadata": {"uid": self.uid}, "status": status}
        await self._client.call(
            "PATCH", f"{self._path}/status", body, content=STRATEGIC, fine=(GONE, CONFLICT)
        )

    async def happened(self, reason: str, message: str, kind: str = "Normal") -> None:
        """Record an event; a namespace that is going takes none."""
        body = event(self._manifest, self._settings.name, reason, message, kind)
        path = f"/api/v1/namespaces/{self._manifest['metadata']['namespace']}/events"
        await self._client.call("POST", path, body, fine=(FORBIDDEN, GONE))

    async def forget_fault(self) -> None:
        """Take away the annotation of a fault that happens once."""
        body = {"metadata": {"annotations": {faults.ANNOTATION: None}}}
        self._manifest["metadata"]["annotations"].pop(faults.ANNOTATION, None)
        await self._client.call("PATCH", self._path, body, content=MERGE, fine=(GONE,))

    # --- its life --------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            failed = await self._work()
        finally:
            # Before anybody hears of its end: the next pod may come at once.
            self._devices.give_back(self.uid)
        if self.fault == faults.EVICTED:
            await self.tell("Failed", reason=faults.EVICTED, message=PUT_OUT)
        else:
            await self.tell("Failed" if failed else "Succeeded")

    async def _work(self) -> bool:
        """Run all containers to their ends; return whether one failed."""
        for container in self._first:
            if await container.live():
                return True
        return any(await asyncio.gather(*[one.live() for one in self._containers]))

    async def _delete(self, grace_s: float) -> None:
        self.signal(signal.SIGTERM)
        if not any(one.runs for one in (*self._first, *self._containers)):
            # It still pulls, or waits between two starts.
            self._life.cancel()
        await asyncio.wait({self._life}, timeout=grace_s)
        self.signal(signal.SIGKILL)
        await asyncio.wait({self._life})
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        await self._client.call("DELETE", self._path, body, fine=(GONE, CONFLICT))

    def _ended(self, life: "asyncio.Task[None]") -> None:
        if not life.cancelled() and (error := life.exception()):
            sys.stderr.write(f"{self._path}: {error!r}\n")

    async def _prepare(self, container: Manifest) -> tuple[list[str], Mapping[str, str]]:
        meta = self._manifest["metadata"]
        places = {
            "status.podIP": self._address,
            "status.hostIP": "127.0.0.1",
            "spec.nodeName": self._settings.name,
            "spec.serviceAccountName": self._manifest["spec"].get("serviceAccountName", ""),
        }
        given = {
            "PATH": self._settings.path,
            "HOME": str(self.home),
            "HOSTNAME": meta["name"],
            "LANG": "C.UTF-8",
        }
        if self._shown:
            given["NVIDIA_VISIBLE_DEVICES"] = ",".join(self._shown)
        own = await environ.variables(self._client, self._manifest, container, places)
        usual = self._settings.images.get(container["image"], ())
        return environ.command(container, usual, {**given, **own}), {**given, **own}
