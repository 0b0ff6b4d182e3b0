"""Pods that run as processes, and every way in which one can be made to fail."""

import http.client
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.controlplane.api import Manifest
from tests.controlplane.kubelet import faults
from tests.controlplane.kubelets import Kubelet
from tests.controlplane.nodes import fake_node, node_ready, takes_pods
from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.kube
_names = itertools.count(1)
SERVES = "from http import server as s; s.test(s.SimpleHTTPRequestHandler, port=8888, bind='{}')"
WAITS = ["python3", "-c", "import time; time.sleep(600)"]


@pytest.fixture(scope="module")
def node(full_control_plane: ControlPlane) -> Iterator[Kubelet]:
    """One node for all stories that leave it well."""
    with Kubelet.running(full_control_plane, images={"serves": WAITS}) as one:
        yield one


def start(node: Kubelet, command: list[str], *, fault: str = "", **spec: Any) -> str:
    """Create a pod for a node and return its address."""
    namespace = node.plane.namespace("pods")
    name = f"pod-{next(_names)}"
    container: Manifest = {"name": "main", "image": "any", "command": command}
    container |= {key: spec.pop(key) for key in ("env", "resources", "image") if key in spec}
    meta = {"name": name, "annotations": {faults.ANNOTATION: fault} if fault else {}}
    selector = {"kubernetes.io/hostname": node.name}
    body = {"nodeSelector": selector, "restartPolicy": "OnFailure", "containers": [container]}
    node.plane.api.create(
        f"/api/v1/namespaces/{namespace}/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**body, **spec}},
    )
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def ready(pod: Manifest) -> bool:
    return node_ready(pod)


def phase(wanted: str) -> Callable[[Manifest], bool]:
    return lambda pod: pod["status"].get("phase") == wanted


def waiting_for(reason: str) -> Callable[[Manifest], bool]:
    def seen(pod: Manifest) -> bool:
        states = pod["status"].get("containerStatuses", [])
        return any(one["state"].get("waiting", {}).get("reason") == reason for one in states)

    return seen


def test_a_pod_runs_at_its_own_address_and_ends_when_deleted(node: Kubelet) -> None:
    api = node.plane.api
    address = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    pods = [start(node, ["python3", "-c", SERVES.format("$(IP)")], env=[address]) for _ in "ab"]
    seen = [api.wait(pod, ready) for pod in pods]
    addresses = {one["status"]["podIP"] for one in seen}
    assert len(addresses) == 2
    for one in addresses:
        answers(one)
    for pod in pods:
        api.delete(pod)
    for pod in pods:
        api.wait_gone(pod)
    with pytest.raises(OSError, match=r"refused|reset"):
        http.client.HTTPConnection(addresses.pop(), 8888, timeout=5).request("GET", "/")


def answers(address: str) -> None:
    """See a pod's server answer; it is ready for the API server before it listens."""
    until = time.monotonic() + 30
    while True:
        connection = http.client.HTTPConnection(address, 8888, timeout=5)
        try:
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.1)
        else:
            return
        finally:
            connection.close()


def test_what_a_process_left_behind_ends_with_its_pod(node: Kubelet) -> None:
    leaves = (
        "import subprocess, time; subprocess.Popen(['sleep', '611'], start_new_session=True);"
        "print('left', flush=True); time.sleep(600)"
    )
    api = node.plane.api
    pod = start(node, ["python3", "-c", leaves], terminationGracePeriodSeconds=1)
    seen = api.wait(pod, ready)
    until = time.monotonic() + 30
    while "left" not in node.output(seen, "main"):
        assert time.monotonic() < until
        time.sleep(0.05)

    def sleepers() -> list[int]:
        return [one.pid for one in node.plane.processes.all() if one.cmdline()[-1:] == ["611"]]

    assert len(sleepers()) == 1
    api.delete(pod)
    api.wait_gone(pod)
    assert sleepers() == []


def test_devices_are_handed_out_once_and_the_third_pod_waits_for_one(node: Kubelet) -> None:
    api = node.plane.api
    asks = {"limits": {"nvidia.com/mig-1g.10gb": "1"}}
    says = ["sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES; exec sleep 600"]
    first, second = (start(node, says, resources=asks) for _ in range(2))
    shown = set()
    for pod in (first, second):
        seen = api.wait(pod, ready)
        until = time.monotonic() + 30
        while not (output := node.output(seen, "main")):
            assert time.monotonic() < until
            time.sleep(0.05)
        shown.add(output.strip())
    assert shown == {"mig-1g.10gb-0", "mig-1g.10gb-1"}

    third = start(node, says, resources=asks)

    waits = api.wait(third, lambda one: one["status"].get("conditions"))
    assert "Insufficient nvidia.com/mig-1g.10gb" in waits["status"]["conditions"][0]["message"]
    api.delete(first)
    api.wait(third, ready)
    for pod in (second, third):
        api.delete(pod)


def test_a_pod_that_is_bound_past_the_scheduler_gets_no_device_twice(node: Kubelet) -> None:
    asks = {"limits": {"nvidia.com/gpu": "3"}}
    pod = start(node, WAITS, resources=asks, nodeName=node.name)
    seen = node.plane.api.wait(pod, phase("Failed"))
    assert seen["status"]["reason"] == "UnexpectedAdmissionError"
    assert "2 of nvidia.com/gpu free, 3 asked for" in seen["status"]["message"]


def test_an_image_that_cannot_be_pulled_and_then_can(node: Kubelet) -> None:
    pod = start(node, WAITS, fault=faults.IMAGE)
    seen = node.plane.api.wait(pod, waiting_for(faults.IMAGE))
    assert seen["status"]["phase"] == "Pending"
    happened = node.plane.api.items(f"{pod.rpartition('/pods/')[0]}/events")
    assert "Failed to pull image" in " ".join(one["message"] for one in happened)
    node.fail(pod, "")
    node.plane.api.wait(pod, ready)
    node.plane.api.delete(pod)


def test_a_pod_that_is_deleted_while_its_image_is_pulled(node: Kubelet) -> None:
    pod = start(node, WAITS, fault=faults.IMAGE)
    node.plane.api.wait(pod, waiting_for(faults.IMAGE))
    node.plane.api.delete(pod)
    node.plane.api.wait_gone(pod)


def test_a_process_killed_for_its_memory_is_started_again(node: Kubelet) -> None:
    api = node.plane.api
    pod = start(node, WAITS)
    before = api.wait(pod, ready)
    node.fail(pod, faults.MEMORY)

    def restarted(one: Manifest) -> bool:
        state = one["status"]["containerStatuses"][0]
        return bool(state["restartCount"] == 1 and state["ready"])

    after = api.wait(pod, restarted)
    state = after["status"]["containerStatuses"][0]
    assert state["lastState"]["terminated"]["reason"] == "OOMKilled"
    assert state["lastState"]["terminated"]["exitCode"] == 137
    assert after["status"]["podIP"] == before["status"]["podIP"]
    api.delete(pod)


def test_a_pod_that_is_never_started_again_fails_with_its_memory(node: Kubelet) -> None:
    pod = start(node, WAITS, restartPolicy="Never")
    node.plane.api.wait(pod, ready)
    node.fail(pod, faults.MEMORY)
    seen = node.plane.api.wait(pod, phase("Failed"))
    assert seen["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"


def test_a_process_that_ends_at_once_is_held_back(node: Kubelet) -> None:
    pod = start(node, WAITS, fault=faults.CRASH)
    seen = node.plane.api.wait(pod, waiting_for(faults.CRASH))
    assert seen["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
    node.plane.api.delete(pod)
    node.plane.api.wait_gone(pod)


def test_a_pod_that_is_put_out_has_failed(node: Kubelet) -> None:
    pod = start(node, WAITS)
    node.plane.api.wait(pod, ready)
    node.fail(pod, faults.EVICTED)
    seen = node.plane.api.wait(pod, phase("Failed"))
    assert seen["status"]["reason"] == "Evicted"


def test_a_pod_that_does_not_end_when_deleted(node: Kubelet) -> None:
    pod = start(node, WAITS, fault=faults.STUCK, terminationGracePeriodSeconds=1)
    node.plane.api.wait(pod, ready)
    node.plane.api.delete(pod)
    time.sleep(2)
    seen = node.plane.api.get(pod)
    assert seen["metadata"]["deletionTimestamp"]
    assert ready(seen)
    node.fail(pod, "")
    node.plane.api.wait_gone(pod)


def test_a_command_that_is_no_program_and_one_that_the_image_brings(node: Kubelet) -> None:
    wrong = start(node, ["no-such-program"], restartPolicy="Never")
    seen = node.plane.api.wait(wrong, phase("Failed"))
    assert seen["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "StartError"
    assert "no-such-program" in node.output(seen, "main")
    brought = start(node, [], image="serves")
    node.plane.api.wait(brought, ready)
    node.plane.api.delete(brought)


def test_a_lost_node_keeps_its_pods_running_until_it_is_back(kubelet: Kubelet) -> None:
    api = kubelet.plane.api
    pod = start(kubelet, WAITS)
    api.wait(pod, ready)
    kubelet.lose()
    api.wait(kubelet.path, lambda one: not node_ready(one))
    seen = api.wait(pod, lambda one: one["metadata"].get("deletionTimestamp"))
    assert phase("Running")(seen)
    kubelet.find_again()
    api.wait_gone(pod)
    api.wait(kubelet.path, takes_pods)


def test_pods_outlive_an_api_server_that_was_away(node: Kubelet) -> None:
    plane = node.plane
    pod = start(node, WAITS)
    plane.api.wait(pod, ready)
    plane.processes.end("kube-apiserver")
    plane.start_again("kube-apiserver")
    plane.api.wait(pod, ready)
    plane.api.delete(pod)
    plane.api.wait_gone(pod)


def test_kwok_keeps_a_node_that_is_only_an_object(full_control_plane: ControlPlane) -> None:
    api = full_control_plane.api
    api.create("/api/v1/nodes", fake_node("many", {"nvidia.com/gpu": "8"}))
    node = "/api/v1/nodes/many"
    # kwok lists all nodes and then follows them, which takes a while beside other work.
    api.wait(node, takes_pods, seconds=90)
    namespace = full_control_plane.namespace()
    pods = f"/api/v1/namespaces/{namespace}/pods"
    container = {"name": "c", "image": "any", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    spec = {"nodeSelector": {"kubernetes.io/hostname": "many"}, "containers": [container]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "all"}, "spec": spec}
    api.create(pods, body)
    api.wait(f"{pods}/all", phase("Running"))
    api.delete(f"{pods}/all")
    api.wait_gone(f"{pods}/all")
    api.delete(node)
