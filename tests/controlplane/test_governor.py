"""A governor that leaves admission to a real Kueue, set up by what is rendered from its policy."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hub_ext.kube.api import Api
from hub_ext.kube.nodes import NodeOffer, offers
from hub_ext.kube.render import Manifest, Site, rendered
from hub_ext.kube.render.kinds import kind_of
from hub_ext.lease import Cause, LeaseState
from hub_ext.policy.load import loads
from tests.controlplane import queues
from tests.controlplane.plane import ControlPlane
from tests.support.fake_kueue import Body, FakeKueue
from tests.support.governed_kueue import Cluster, site_and_ledger
from tests.support.governing import POLICY

pytestmark = [pytest.mark.kube, pytest.mark.smoke]

NOTICE_S, SAFE_S = 900, 1800
KINDS = ("Namespace", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue")
WORKLOADS = f"{queues.GROUP}/workloads"


class RealCluster(Cluster):
    """The same stories, told by the real API server."""

    plane: ControlPlane

    def bodies(self) -> list[Body]:
        mine = {"gpu-maps", "gpu-team-speech"}
        found = self.plane.api.items(WORKLOADS)
        return [one for one in found if one["metadata"]["namespace"] in mine]


@pytest.fixture
def ruled(control_plane: ControlPlane) -> ControlPlane:
    """The queues of the policy, made on a control plane."""
    objects: list[Manifest] = [
        one for one in rendered(loads(POLICY).policy, Site()) if one["kind"] in KINDS
    ]
    control_plane.api.apply(objects)
    for one in objects:
        if one["kind"] == "ClusterQueue":
            path = kind_of(one).path(name=one["metadata"]["name"])
            control_plane.api.wait(path, lambda body: queues.holds(body, "Active"))
    return control_plane


@asynccontextmanager
async def real_cluster(plane: ControlPlane, directory: Path) -> AsyncIterator[RealCluster]:
    with site_and_ledger(directory) as site:
        cluster = RealCluster(site, FakeKueue((), (), {}), plane.kubeconfig)
        cluster.plane = plane
        try:
            yield cluster
        finally:
            await cluster.stop()
            for one in cluster.bodies():
                meta = one["metadata"]
                plane.api.delete(queues.workloads_path(meta["namespace"], meta["name"]))


Story = Callable[[RealCluster], Awaitable[None]]


def tell(plane: ControlPlane, directory: Path, story: Story) -> None:
    async def whole() -> None:
        async with real_cluster(plane, directory) as cluster:
            await asyncio.wait_for(story(cluster), 120)

    asyncio.run(whole())


def test_an_owner_gets_back_what_was_borrowed_with_notice(
    ruled: ControlPlane, tmp_path: Path
) -> None:
    async def story(cluster: RealCluster) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await cluster.run("vera")
        print(f"asked, admitted by Kueue, granted: {loop.time() - began:.2f} s")
        borrowed = await cluster.run("viktor")
        await cluster.run("sam")
        victim = borrowed.lease_id
        owner = await cluster.waits("sue")
        await cluster.until(lambda: owner.id in cluster.there(), "an owner asks")
        late = await cluster.waits("vera", server="b")
        await cluster.still(lambda: late.id not in cluster.there(), 1)
        await cluster.later(SAFE_S)
        await cluster.until(lambda: cluster.state(victim) is LeaseState.noticed, "it is told")
        await cluster.until(
            lambda: cluster.stands(victim, "Evicted"), "Kueue evicts the one called"
        )
        evicted = [name for name in cluster.there() if cluster.stands(name, "Evicted")]
        assert evicted == [victim]
        await cluster.later(NOTICE_S)
        await cluster.until(lambda: cluster.state(victim) is LeaseState.stopping)
        await cluster.still(lambda: cluster.stands(victim, "QuotaReserved"), 1)
        await cluster.end(borrowed)
        await cluster.until(lambda: cluster.state(owner.id) is LeaseState.held, "the owner's turn")
        assert (await cluster.run("sue")).lease_id == owner.id
        assert (await cluster.lease(victim)).cause is Cause.preempted

    tell(ruled, tmp_path, story)


def test_a_restart_of_the_governor_loses_and_doubles_nothing(
    ruled: ControlPlane, tmp_path: Path
) -> None:
    async def story(cluster: RealCluster) -> None:
        grant = await cluster.run("sam")
        uid = cluster.uid(grant.lease_id)
        await cluster.restart()
        await cluster.still(lambda: cluster.state(grant.lease_id) is LeaseState.running, 1)
        assert cluster.uid(grant.lease_id) == uid
        await cluster.end(grant)
        await cluster.until(lambda: not cluster.there(), "its Workload goes with it")

    tell(ruled, tmp_path, story)


def test_what_a_machine_offers_is_read(control_plane: ControlPlane) -> None:
    path, name = "/api/v1/nodes", "offers-1"
    control_plane.api.create(path, {"kind": "Node", "metadata": {"name": name}})
    ready = {"type": "Ready", "status": "True", "reason": "Test", "message": "it is up"}
    devices = {"nvidia.com/gpu": "2", "nvidia.com/mig-1g.18gb": "7"}
    status = {"capacity": devices, "allocatable": devices, "conditions": [ready]}
    control_plane.api.patch(f"{path}/{name}/status", {"status": status})

    async def read() -> dict[str, NodeOffer]:
        api = Api(control_plane.kubeconfig)
        try:
            return {one.name: one for one in await offers(api)}
        finally:
            await api.close()

    try:
        found = asyncio.run(read())[name]
    finally:
        control_plane.api.delete(f"{path}/{name}")
    assert (found.ready, dict(found.devices)) == (
        True,
        {"nvidia.com/gpu": 2, "nvidia.com/mig-1g.18gb": 7},
    )
