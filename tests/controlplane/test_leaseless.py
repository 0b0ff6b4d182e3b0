"""On a real API server: a batch pod with a GPU outlives every look, a leaseless server does not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hub_ext.kube.api import Api
from hub_ext.kube.leaseless import Servers
from hub_ext.policy.load import loads
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.devices.gpuholders import LEASELESS
from hub_ext.service.workers.unleasedgpus import Leaseless
from tests.controlplane.plane import ControlPlane
from tests.support.governing import POLICY, site_in

pytestmark = [pytest.mark.kube, pytest.mark.smoke]


def pod(namespace: str, name: str, **labels: str) -> dict[str, Any]:
    """Describe a pod that asks for a GPU and is scheduled nowhere."""
    container = {
        "name": "c",
        "image": "registry.example/none",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    about = {"name": name, "namespace": namespace, "labels": labels}
    notes = {"hub.jupyter.org/username": "eve", "hub.jupyter.org/servername": ""}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**about, "annotations": notes},
        # Its grace is nobody's to keep: no kubelet is there to end it.
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def test_a_batch_pod_outlives_each_look_and_a_leaseless_server_does_not(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    namespace = control_plane.namespace()
    policy = POLICY.replace(
        "maps: {team: vision}", f"maps: {{team: vision, namespace: {namespace}}}"
    )
    server, batch = "jupyter-eve", "training-0"
    control_plane.api.apply(
        [
            pod(namespace, server, component="singleuser-server"),
            pod(namespace, batch, app="training"),
        ]
    )
    with site_in(tmp_path, policy=policy) as site:
        site.governor.set_policy(loads(policy), now=site.now)

        async def looks() -> None:
            servers = Servers(Api(control_plane.kubeconfig))
            core = CoreRunner(site.governor, lambda: site.now, Stream(8))
            watch = Leaseless(core, servers)
            try:
                await watch.look()
                assert names(control_plane, namespace) == {server, batch}
                for _time in range(3):
                    site.later(61)
                    await watch.look()
            finally:
                await servers.close()

        asyncio.run(looks())
        control_plane.api.wait_gone(f"/api/v1/namespaces/{namespace}/pods/{server}")
        assert names(control_plane, namespace) == {batch}
        with site.ledger.transaction() as tx:
            events = tx.events(kinds=(LEASELESS,), after=0, limit=9)
    assert [event.body["name"] for _seq, event in events] == [server]


def names(plane: ControlPlane, namespace: str) -> set[str]:
    """Names of the pods in a namespace."""
    found = plane.api.items(f"/api/v1/namespaces/{namespace}/pods")
    return {one["metadata"]["name"] for one in found}
