"""From the device that a kubelet gave out to the lease that pays for it, on a real API server."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from hub_ext.kube.api import Api
from hub_ext.kube.standing import Standing
from hub_ext.lease import DeviceHolding, DeviceId, Grant, LeaseId, OpenLease, SampleBatch
from hub_ext.policy.load import loads
from hub_ext.telemetry.kubelet import Kubelet as Socket
from tests.controlplane.api import Manifest
from tests.controlplane.kubelets import Kubelet
from tests.controlplane.nodes import node_ready
from tests.support.governing import POLICY, Site, site_in

pytestmark = pytest.mark.kube

WAITS = ["python3", "-c", "import time; time.sleep(600)"]


def pod_of(grant: Grant, node: Kubelet, name: str) -> Manifest:
    """Make the pod of a grant, as far as machine and device go."""
    terms = grant.pod
    assert terms is not None
    asks = {"limits": {str(terms.resource_name): str(terms.resource_count)}}
    container = {"name": "notebook", "image": "any", "command": WAITS, "resources": asks}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": terms.namespace, "labels": dict(terms.labels)},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node.name},
            "containers": [container],
        },
    }


async def places(
    node: Kubelet, leases: list[OpenLease]
) -> tuple[Mapping[tuple[str, str], LeaseId], Mapping[LeaseId, str]]:
    """Tell which lease each pod is of, and on which machine each lease runs."""
    standing = Standing(Api(node.plane.kubeconfig))
    try:
        await standing.of(leases)
        return standing.servers(leases), standing.machines(leases)
    finally:
        await standing.close()


def holdings(node: Kubelet) -> tuple[DeviceHolding, ...]:
    """Ask the node's kubelet as the agent does."""
    socket = Socket(Path(node.settings.socket))
    try:
        return socket.holdings()
    finally:
        socket.close()


def test_a_device_is_known_by_its_pod_and_the_pod_by_its_lease(
    kubelet: Kubelet, tmp_path: Path
) -> None:
    """Two people have a GPU each of one machine; nobody has the other one's."""
    api, namespace = kubelet.plane.api, kubelet.plane.namespace()
    policy = POLICY.replace(
        "maps: {team: vision}", f"maps: {{team: vision, namespace: {namespace}}}"
    )
    with site_in(tmp_path / "state", policy=policy, servers="pods") as site:
        site.governor.set_policy(loads(policy), now=site.now)
        grants = {user: site.ask(site.asking(user)) for user in ("vera", "viktor")}
        names = {user: f"jupyter-{user}" for user in grants}
        for user, grant in grants.items():
            api.apply([pod_of(grant, kubelet, names[user])])
        paths = {user: f"/api/v1/namespaces/{namespace}/pods/{names[user]}" for user in grants}
        for path in paths.values():
            api.wait(path, node_ready)

        held = {one.pod: one.device for one in holdings(kubelet)}
        assert set(held) == set(names.values())
        assert set(held.values()) == {DeviceId("gpu-0"), DeviceId("gpu-1")}

        leases = [site.lease(grant) for grant in grants.values()]
        servers, machines = asyncio.run(places(kubelet, leases))
        assert set(machines.values()) == {kubelet.name}
        tell(site, kubelet)
        site.governor.take_servers(servers, machines)
        for user, grant in grants.items():
            known = site.governor.held_devices(site.lease(grant), now=site.now)
            assert known == [held[names[user]]]

        api.delete(paths["vera"])
        api.wait_gone(paths["vera"])
        until = time.monotonic() + 30
        while len(left := holdings(kubelet)) > 1:
            assert time.monotonic() < until, left
            time.sleep(0.1)
        assert [one.pod for one in left] == [names["viktor"]]


def tell(site: Site, node: Kubelet) -> None:
    """Let the agent of the node report what its kubelet says."""
    site.later(1)
    batch = SampleBatch(
        node=node.name,
        source="nvml",
        sent_at=site.now,
        period_s=20,
        holdings=holdings(node),
    )
    site.governor.take_samples(batch, now=site.now)
