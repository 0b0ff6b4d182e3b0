"""What depends on how Kueue is set up, and on what else is in a namespace: K7, K8, K9."""

import time
from typing import Any

import pytest

from hub_ext.kube import names
from hub_ext.kube.engine import PODS_READY_TIMEOUT, Phase
from hub_ext.kube.limitdemands import of_limits
from tests.controlplane import queues
from tests.controlplane.api import Manifest
from tests.controlplane.kueue import kueue_with
from tests.controlplane.plane import ControlPlane
from tests.support.kube_scene import RUNNING, WAITING, Scene

pytestmark = pytest.mark.kube
GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.18gb"


def pod(name: str, namespace: str, **what: Any) -> Manifest:
    """A pod of somebody's batch work, or of a notebook."""
    container = {"name": "c", "image": "none", "resources": what.pop("resources", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **what},
        "spec": {"containers": [container]},
    }


def test_k7_waiting_for_pods_stops_a_whole_cluster_unless_readiness_is_reported(
    control_plane: ControlPlane,
) -> None:
    waiting = {"timeout": "8s", "blockAdmission": True}
    with (
        kueue_with(control_plane, waitForPodsReady=waiting),
        Scene.of(control_plane, "k7") as scene,
    ):
        scene.cohort("site")
        scene.queue("a", 2)
        scene.cohort("elsewhere")
        scene.queue("b", 2, cohort="elsewhere")
        scene.runs("silent", "a", RUNNING)
        scene.asks("other", "b", WAITING)
        scene.quiet()
        assert scene.phases()["other"] is Phase.pending
        scene.sees(lambda found: found["silent"].evicted_for is not None)
        assert scene.look()["silent"].evicted_for == PODS_READY_TIMEOUT
        scene.deletes("silent")
        scene.until("other", Phase.admitted)
        scene.is_ready("other")
        scene.runs("next", "a", RUNNING)
        scene.is_ready("next")
        scene.quiet(10)
        assert set(scene.phases().values()) == {Phase.admitted}
        scene.ends("one silent lease stops every queue and is evicted; reported ones do not")


def test_k8_pods_that_ask_for_gpus_draw_on_the_quota_of_leases(
    control_plane: ControlPlane,
) -> None:
    replace = {"strategy": "Replace"}
    transformations = [
        {"input": GPU, **replace, "outputs": {names.UNIT: "840"}},
        {"input": MIG, **replace, "outputs": {names.UNIT: "105"}},
    ]
    with (
        kueue_with(control_plane, resources={"transformations": transformations}),
        Scene.of(control_plane, "k8") as scene,
    ):
        scene.cohort("site")
        scene.queue("a", 1680)
        scene.queue("b", 840)
        label = {"kueue.x-k8s.io/queue-name": "a"}
        for n, gpus in enumerate(({GPU: "1"}, {MIG: "2"})):
            resources = {"requests": gpus, "limits": gpus}
            made = pod(f"batch-{n}", scene.namespace, labels=label, resources=resources)
            scene.plane.api.create(f"/api/v1/namespaces/{scene.namespace}/pods", made)
        scene.sees(lambda found: [one.holds for one in found.values()] == [True, True])
        assert sorted(one.units for one in scene.look().values()) == [210, 840]
        assert {one.foreign for one in scene.look().values()} == {True}
        assert {one.owner for one in scene.look().values()} == {"Pod batch-0", "Pod batch-1"}
        scene.runs("lease", "a", RUNNING, units=630)
        scene.runs("borrows", "a", RUNNING, units=840)
        assert scene.held() == 1680 + 840
        scene.asks("owner", "b", WAITING, units=840)
        scene.until("owner", Phase.admitted)
        found = scene.look()
        assert found["lease"].phase is Phase.admitted
        assert found["borrows"].phase is Phase.admitted
        assert {one.owner for one in found.values() if one.foreign and one.holds} == {"Pod batch-1"}
        scene.ends("840 + 210 of pods and 630 of leases fill 1680; pods of number 0 go first")


def test_k9_a_local_queue_called_default_gates_the_notebooks_own_pod(
    control_plane: ControlPlane,
) -> None:
    with Scene.of(control_plane, "k9") as scene:
        scene.cohort("site")
        scene.queue("a", 1)
        pods = f"/api/v1/namespaces/{scene.namespace}/pods"
        own = queues.local_queue(names.LOCAL_QUEUE, scene.namespace, scene.own("a"))
        scene.plane.api.apply([own])
        free = scene.plane.api.create(pods, pod("notebook", scene.namespace))
        assert "schedulingGates" not in free["spec"]
        scene.plane.api.apply([queues.local_queue("default", scene.namespace, scene.own("a"))])
        scene.runs("lease", "a", RUNNING)

        def gated() -> bool:
            # Kueue learns of the queue a moment later than the API server.
            made = scene.plane.api.create(pods, pod("gated", scene.namespace))
            if "schedulingGates" in made["spec"]:
                return True
            scene.plane.api.delete(f"{pods}/gated", gracePeriodSeconds="0")
            return False

        scene.sees(lambda _all: gated())
        gates = scene.plane.api.get(f"{pods}/gated")["spec"]["schedulingGates"]
        assert {"name": "kueue.x-k8s.io/admission"} in gates
        scene.ends("free with a queue of our name; with one called default it is gated")


def test_a_limit_range_of_containers_keeps_leases_out_and_is_a_named_breach(
    control_plane: ControlPlane,
) -> None:
    with Scene.of(control_plane, "limits") as scene:
        scene.cohort("site")
        scene.queue("a", 2)
        scene.runs("before", "a", RUNNING)
        limits: Manifest = {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "usual", "namespace": scene.namespace},
            "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
        }
        (made,) = scene.plane.api.apply([limits])
        (breach,) = of_limits(made, {})
        assert "adds cpu to each lease" in breach.words
        time.sleep(1)  # Kueue learns of it a moment later than the API server
        scene.asks("after", "a", WAITING)
        scene.sees(lambda found: "cpu unavailable in ClusterQueue" in found["after"].message)
        scene.ends("with CPU added to it a lease waits for ever, and doctor says why")
