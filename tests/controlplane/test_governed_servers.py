"""Governed servers as pods of a real cluster: hub, scheduler and a node that can be made to fail.

The governor is the one of the spawner's tests: it says of what pods are made, and hears what ended.
"""

from collections.abc import Iterator

import pytest

from hub_ext.kube.podterms import PRIORITY_CLASS
from hub_ext.lease import Liveness
from tests.controlplane.governed import OPTIONS, Cluster, governed_cluster
from tests.controlplane.kubelet import faults
from tests.controlplane.kubelets import Kubelet
from tests.controlplane.plane import ControlPlane
from tests.support.web import call

pytestmark = [pytest.mark.kube, pytest.mark.hub]


@pytest.fixture(scope="module")
def whole(
    full_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with governed_cluster(full_control_plane, tmp_path_factory.mktemp("governed")) as cluster:
        yield cluster


@pytest.fixture
def cluster(whole: Cluster) -> Iterator[Cluster]:
    whole.changes = {}
    yield whole
    whole.clear()


def test_a_server_starts_where_pod_security_is_restricted(cluster: Cluster) -> None:
    cluster.hub.start_server("ada", OPTIONS)
    (pod,) = cluster.pods()
    assert pod["spec"]["priorityClassName"] == PRIORITY_CLASS
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/mig-1g.10gb"] == "1"
    assert call("GET", f"{cluster.hub.url}/user/ada/api").status == 200
    cluster.hub.stop_server("ada")
    told = cluster.ended()
    assert (told.liveness, told.asked) == (Liveness.gone, True)


def test_the_real_scheduler_is_told_in_words(cluster: Cluster) -> None:
    cluster.changes = {"resource_name": "nvidia.com/mig-7g.80gb"}
    words = cluster.refused("ben")
    assert "too little nvidia.com/mig-7g.80gb left" in words
    told = cluster.ended()
    assert told.reason is not None
    assert (told.reason.code, told.liveness) == ("unschedulable", Liveness.gone)
    assert cluster.pods() == []


def test_machines_without_the_pools_label_are_counted(cluster: Cluster) -> None:
    cluster.changes = {"node_selector": {"gpu-commons.dev/pool": "nowhere"}}
    assert "have not the labels of the pool" in cluster.refused("ben")


def test_the_namespaces_own_quota_is_told_in_words(cluster: Cluster) -> None:
    api = cluster.node.plane.api
    fence = {"apiVersion": "v1", "kind": "ResourceQuota"}
    meta = {"name": "fence", "namespace": cluster.namespace}
    hard = {"requests.nvidia.com/mig-1g.10gb": "0"}
    (quota,) = api.apply([{**fence, "metadata": meta, "spec": {"hard": hard}}])
    assert quota["metadata"]["name"] == "fence"
    path = f"/api/v1/namespaces/{cluster.namespace}/resourcequotas/fence"
    try:
        api.wait(path, lambda one: "hard" in one.get("status", {}))
        words = cluster.refused("cyd")
        assert "has a ResourceQuota fence that leaves no room" in words
    finally:
        api.delete(path)
    assert cluster.ended().liveness is Liveness.gone


def test_an_image_that_does_not_come_is_given_up(cluster: Cluster) -> None:
    cluster.changes = {"annotations": {faults.ANNOTATION: faults.IMAGE}}
    assert "image of your project's environment does not come" in cluster.refused("dee")
    told = cluster.ended()
    assert told.reason is not None
    assert told.reason.code == "image-pull"


def test_a_program_that_crashes_is_given_up(cluster: Cluster) -> None:
    cluster.changes = {"annotations": {faults.ANNOTATION: faults.CRASH}}
    assert "each time it is started" in cluster.refused("eva")


def test_a_server_that_its_machine_puts_out_ends_with_its_reason(cluster: Cluster) -> None:
    cluster.hub.start_server("fay", OPTIONS)
    cluster.node.fail(cluster.pod_path(), faults.EVICTED)
    told = cluster.ended()
    assert told.reason is not None
    assert (told.liveness, told.reason.code, told.asked) == (Liveness.gone, "evicted", False)
    cluster.hub.wait(lambda: not cluster.pods(), "the failed pod to go")


def test_a_server_out_of_memory_once_comes_back(cluster: Cluster) -> None:
    cluster.hub.start_server("gil", OPTIONS)
    cluster.node.fail(cluster.pod_path(), faults.MEMORY)

    def back() -> bool:
        (pod,) = cluster.pods()
        (told,) = pod["status"]["containerStatuses"]
        return bool(told["restartCount"] == 1 and told["ready"])

    cluster.hub.wait(back, "the program to be started again")
    cluster.hub.wait(
        lambda: call("GET", f"{cluster.hub.url}/user/gil/api").status == 200, "the server"
    )
    assert cluster.hub.ready("gil")
    assert cluster.governor.ended() == []


def test_a_pod_that_does_not_end_keeps_its_lease(cluster: Cluster) -> None:
    cluster.hub.start_server("hal", OPTIONS)
    path = cluster.pod_path()
    cluster.node.fail(path, faults.STUCK)
    cluster.hub.stop("hal")
    told = cluster.ended()
    assert told.liveness is Liveness.alive
    cluster.hub.wait(lambda: cluster.hub.settled("hal"), "the stop")
    assert "still" in cluster.refused("hal")
    cluster.node.fail(path, "")
    cluster.hub.wait(
        lambda: cluster.governor.ended()[-1].liveness is Liveness.gone, "proof", seconds=60
    )


def test_a_lost_machine_ends_the_server_and_keeps_its_lease(cluster: Cluster) -> None:
    with Kubelet.running(cluster.node.plane) as doomed:
        # The hub's own node selector names the other machine.
        cluster.changes = {"node_selector": {"kubernetes.io/hostname": doomed.name}}
        cluster.hub.start_server("ada", OPTIONS)
        doomed.lose()
        told = cluster.ended()
        assert told.reason is not None
        assert (told.liveness, told.reason.code) == (Liveness.unknown, "machine-lost")
        assert cluster.pods() != []
        doomed.find_again()
        cluster.hub.wait(
            lambda: cluster.governor.ended()[-1].liveness is Liveness.gone, "proof", seconds=90
        )
