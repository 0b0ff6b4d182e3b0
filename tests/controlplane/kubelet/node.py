"""The node: it registers, gives signs of life, and follows what the scheduler binds to it."""

import asyncio
import itertools
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.kubelet_socket import KubeletSocket

from . import faults
from .client import MERGE, STRATEGIC, Client, Manifest
from .devices import Devices, NoDeviceError
from .objects import annotation, node, node_lease, node_status, pod_status, stamp
from .pod import Pod
from .settings import Settings

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NODES = "/api/v1/nodes"
EXISTS, GONE = 409, 404
OVER = ("Succeeded", "Failed")


class Node:
    """One node and its pods."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client, self._settings = client, settings
        self._pods: dict[str, Pod] = {}
        self._devices = Devices(settings.resources)
        self._addresses = _addresses(settings.net)
        self._here = asyncio.Event()
        self._here.set()

    async def run(self) -> None:
        """Be a node until cancelled; then its processes end."""
        body = node(self._settings)
        await self._client.call("POST", NODES, body, fine=(EXISTS,))
        try:
            with self._telling():
                await asyncio.gather(self._beat(), self._follow_node(), self._follow_pods())
        finally:
            for pod in self._pods.values():
                pod.signal(signal.SIGKILL)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Tell on a socket which pod holds which device."""
        if not self._settings.socket:
            yield
            return
        with KubeletSocket(Path(self._settings.socket)) as told:
            told.held = self._devices.holders
            yield

    async def _beat(self) -> None:
        began, name = stamp(), self._settings.name
        while True:
            if self._here.is_set():
                body = {"status": node_status(self._settings, began)}
                path = f"{NODES}/{name}/status"
                await self._client.call("PATCH", path, body, content=STRATEGIC, fine=(GONE,))
                lease = node_lease(name)
                path = f"{LEASES}/{name}"
                answer = await self._client.call("PATCH", path, lease, content=MERGE, fine=(GONE,))
                if answer.get("code") == GONE:
                    await self._client.call("POST", LEASES, lease, fine=(GONE, EXISTS))
            await asyncio.sleep(self._settings.heartbeat_s)

    async def _follow_node(self) -> None:
        async for _, nodes in self._client.watch(NODES, f"metadata.name%3D{self._settings.name}"):
            for one in nodes:
                if annotation(one, faults.ANNOTATION) == faults.LOST:
                    self._here.clear()
                else:
                    self._here.set()

    async def _follow_pods(self) -> None:
        field = f"spec.nodeName%3D{self._settings.name}"
        async for happened, pods in self._client.watch("/api/v1/pods", field):
            await self._here.wait()
            named = {one["metadata"]["uid"]: one for one in pods}
            if happened == "LIST":
                gone = set(self._pods) - set(named)
            else:
                gone = set(named) if happened == "DELETED" else set()
            for uid in gone & set(self._pods):
                self._drop(uid)
            for uid in set(named) - gone:
                await self._see(named[uid])

    async def _see(self, manifest: Manifest) -> None:
        uid = manifest["metadata"]["uid"]
        if uid in self._pods:
            self._pods[uid].update(manifest)
            return
        status = manifest.get("status", {})
        if status.get("phase") in OVER:
            return
        # The API server refuses another address for a pod that has one.
        address = status.get("podIP") or next(self._addresses)
        try:
            pod = Pod(self._client, self._settings, manifest, address, self._devices)
        except NoDeviceError as error:
            await self._refuse(manifest, address, str(error))
        else:
            self._pods[uid] = pod

    async def _refuse(self, manifest: Manifest, address: str, words: str) -> None:
        meta = manifest["metadata"]
        told = pod_status(
            "Failed", address, stamp(), (), reason="UnexpectedAdmissionError", message=words
        )
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        body = {"metadata": {"uid": meta["uid"]}, "status": told}
        await self._client.call("PATCH", path, body, content=STRATEGIC, fine=(GONE, EXISTS))

    def _drop(self, uid: str) -> None:
        self._pods.pop(uid).signal(signal.SIGKILL)


def _addresses(net: str) -> Iterator[str]:
    """Give addresses of a net of loopback, each one once."""
    return (
        f"{net}.{third}.{last}" for third, last in itertools.product(range(1, 255), range(1, 255))
    )
