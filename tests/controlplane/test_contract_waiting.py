"""Who waits, who passes, and what frees quota: K2, K4, K10, K12, K13, K15 of the contract."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hub_ext.errors import RefusedError
from hub_ext.kube.engine import CLUSTER_QUEUE_STOPPED, Phase
from hub_ext.kube.names import FLAVOR_LABEL
from tests.controlplane import queues
from tests.controlplane.nodes import fake_node
from tests.controlplane.plane import ControlPlane
from tests.support.kube_scene import RUNNING, WAITING, Scene, Scenes

pytestmark = pytest.mark.kube


@pytest.fixture
def scenes(control_plane: ControlPlane) -> Scenes:
    """Scenes on the real Kueue; the same stories are told of the small one elsewhere."""
    return lambda name: Scene.of(control_plane, name)


@pytest.mark.smoke
def test_k2_newcomers_borrow_past_a_waiting_owner_unless_they_are_kept_out(
    scenes: Scenes,
) -> None:
    with scenes("k2") as scene:
        scene.cohort("site")
        scene.queue("b", 4)
        scene.queue("a", 0)
        scene.queue("c", 0)
        for n in range(3):
            scene.runs(f"borrower-{n}", "a", RUNNING)
        scene.asks("owner", "b", WAITING, units=4)
        scene.runs("new-0", "c", WAITING)
        scene.renumbers("new-0", RUNNING)
        scene.asks("new-1", "c", WAITING)
        scene.deletes("borrower-0")
        scene.until("new-1", Phase.admitted)
        scene.renumbers("new-1", RUNNING)
        assert scene.phases()["owner"] is Phase.pending
        # As the governor does it: who would borrow steps out while an owner waits.
        scene.asks("new-2", "c", WAITING)
        scene.sets_active("new-2", on=False)
        for name in ("borrower-1", "borrower-2", "new-0"):
            scene.deletes(name)
            scene.quiet(1.5)
            assert scene.phases()["owner"] is Phase.pending
        scene.deletes("new-1")
        scene.until("owner", Phase.admitted)
        scene.sets_active("new-2", on=True)
        scene.quiet()
        assert scene.phases()["new-2"] is Phase.pending
        scene.ends("two newcomers passed the owner; kept out, it starts when borrowers have left")


def test_k4_deactivation_frees_quota_at_once_so_the_client_refuses_it(
    scenes: Scenes,
) -> None:
    with scenes("k4") as scene:
        scene.cohort("site")
        scene.queue("a", 2)
        scene.runs("first", "a", RUNNING)
        scene.runs("second", "a", RUNNING)
        with pytest.raises(RefusedError, match="holds quota"):
            scene.sets_active("first", on=False)
        scene.patches("first", {"spec": {"active": False}})
        scene.until("first", Phase.deactivated)
        assert not scene.look()["first"].holds
        scene.runs("third", "a", WAITING)
        scene.patches("first", {"spec": {"active": True}})
        scene.sees(lambda found: found["first"].holds)
        assert scene.held() == 3
        scene.ends(
            "3 of 2 units held after a deactivation; the product's client refuses to make it"
        )


def test_k10_a_drained_queue_evicts_and_keeps_quota_until_we_delete(
    scenes: Scenes,
) -> None:
    with scenes("k10") as scene:
        scene.cohort("site")
        scene.queue("a", 2)
        scene.queue("b", 0)
        scene.runs("lease", "a", RUNNING, units=2)
        scene.changes_queue("a", {"stopPolicy": "HoldAndDrain"})
        scene.until("lease", Phase.evicted)
        assert scene.look()["lease"].evicted_for == CLUSTER_QUEUE_STOPPED
        scene.asks("waits", "b", WAITING)
        scene.quiet()
        assert scene.phases()["waits"] is Phase.pending
        assert scene.held() == 2
        scene.deletes("lease")
        scene.changes_queue("a", {"stopPolicy": "None"})
        scene.until("waits", Phase.admitted)
        scene.ends("Evicted:ClusterQueueStopped, and its quota is free only after our deletion")


@contextmanager
def ready_node(scene: Scene) -> Iterator[None]:
    """A node of the scene's pool for the length of a block; it has GPUs, and no units."""
    label = {FLAVOR_LABEL: scene.own("pool")}
    node = fake_node(scene.own("node"), {"nvidia.com/gpu": "8"}, labels=label)
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    path = f"/api/v1/nodes/{scene.own('node')}"
    scene.plane.api.create("/api/v1/nodes", node)
    try:
        scene.plane.api.patch(f"{path}/status", {"status": {"conditions": [ready]}})
        # The server put it there, and no controller is at work to take it away.
        scene.plane.api.patch(path, {"spec": {"taints": None}})
        yield
    finally:
        scene.plane.api.delete(path)


def test_k12_a_flavor_with_a_topology_never_takes_a_lease(scenes: Scenes) -> None:
    with scenes("k12") as scene:
        topology = {
            "apiVersion": queues.VERSION,
            "kind": "Topology",
            "metadata": {"name": scene.own("hosts")},
            "spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]},
        }
        scene.plane.api.create(f"{queues.GROUP}/topologies", topology)
        scene.cohort("site")
        flavor = f"{queues.GROUP}/resourceflavors/gc-{scene.own('pool')}"
        scene.plane.api.patch(flavor, {"spec": {"topologyName": scene.own("hosts")}})
        scene.queue("a", 2)
        with ready_node(scene):
            scene.asks("lease", "a", WAITING)
            scene.sees(lambda found: found["lease"].message != "")
            scene.quiet()
            waits = scene.look()["lease"]
            assert waits.phase is Phase.pending
            scene.ends(f"a ready node is there, and it waits for ever: {waits.message}")


def test_k13_the_selector_of_a_lease_names_its_pool(scenes: Scenes) -> None:
    with scenes("k13") as scene:
        scene.pool("other")
        scene.cohort("site")
        scene.queue("a", 1)
        scene.asks("second", "a", WAITING, pool="other")
        scene.asks("first", "a", WAITING, pool="pool")
        scene.until("first", Phase.admitted)
        scene.until("second", Phase.admitted)
        found = scene.look()
        assert found["second"].flavor == f"gc-{scene.own('other')}"
        assert found["first"].flavor == f"gc-{scene.own('pool')}"
        scene.asks("third", "a", WAITING, pool="other")
        scene.quiet()
        assert scene.phases()["third"] is Phase.pending
        scene.ends("each got the flavor of its selector, and none spills to the other pool")


def test_k15_what_steps_out_while_it_waits_keeps_its_place(scenes: Scenes) -> None:
    with scenes("k15") as scene:
        scene.cohort("site")
        scene.queue("a", 1)
        scene.runs("holds", "a", RUNNING)
        scene.asks("older", "a", WAITING)
        scene.sets_active("older", on=False)
        scene.until("older", Phase.deactivated)
        assert not scene.look()["older"].holds
        time.sleep(1.1)  # the order is by whole seconds
        scene.asks("younger", "a", WAITING)
        scene.sets_active("older", on=True)
        scene.until("older", Phase.pending)
        scene.quiet(1.5)
        scene.deletes("holds")
        scene.until("older", Phase.admitted)
        assert scene.phases()["younger"] is Phase.pending
        scene.ends("deactivated and back, it is admitted before a younger one of the same number")
