"""A real hub with a plain KubeSpawner on the process node: what ours is measured against."""

from collections.abc import Iterator

import pytest

from tests.controlplane.hubs import kube_hub, server_pods
from tests.controlplane.kubelet import faults
from tests.controlplane.kubelets import Kubelet
from tests.controlplane.plane import ControlPlane
from tests.support.hub import RealHub
from tests.support.web import call

pytestmark = [pytest.mark.kube, pytest.mark.hub]
ONE_MIG = 'c.KubeSpawner.extra_resource_limits = {"nvidia.com/mig-1g.10gb": "1"}\n'


@pytest.fixture(scope="module")
def node(full_control_plane: ControlPlane) -> Iterator[Kubelet]:
    with Kubelet.running(full_control_plane) as one:
        yield one


@pytest.fixture(scope="module")
def namespace(full_control_plane: ControlPlane) -> str:
    return full_control_plane.namespace("hub")


@pytest.fixture(scope="module")
def hub(
    node: Kubelet, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealHub]:
    with kube_hub(node, tmp_path_factory.mktemp("hub") / "hub", namespace, extra=ONE_MIG) as one:
        yield one


def test_two_people_get_a_server_each_on_a_device_of_its_own(
    hub: RealHub, node: Kubelet, namespace: str
) -> None:
    hub.add_users("ada", "ben")
    for name in ("ada", "ben"):
        hub.start_server(name)
    pods = server_pods(node.plane, namespace)
    assert len({pod["status"]["podIP"] for pod in pods}) == 2
    assert {pod["spec"]["nodeName"] for pod in pods} == {node.name}
    for name in ("ada", "ben"):
        assert call("GET", f"{hub.url}/user/{name}/api").status == 200
        hub.stop_server(name)
    hub.wait(lambda: server_pods(node.plane, namespace) == [], "the pods to go")


def test_a_server_whose_pod_was_put_out_is_noticed(
    hub: RealHub, node: Kubelet, namespace: str
) -> None:
    hub.add_users("cyd")
    hub.start_server("cyd")
    (pod,) = server_pods(node.plane, namespace)
    meta = pod["metadata"]
    node.fail(f"/api/v1/namespaces/{namespace}/pods/{meta['name']}", faults.EVICTED)
    hub.wait(lambda: not hub.ready("cyd"), "the hub to notice")
