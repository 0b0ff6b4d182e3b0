"""The control plane itself: up in seconds, a Workload admitted, and nothing left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from kubernetes_asyncio.client import CoreV1Api

from tests.controlplane import queues
from tests.controlplane.api import ApiError
from tests.controlplane.fixtures import required
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Processes, ProgramEndedError

pytestmark = pytest.mark.kube
ROOT = Path(__file__).parents[2]


def site(plane: ControlPlane, name: str, units: int) -> str:
    """Make a flavor, a queue with so many units and its door; return the namespace."""
    namespace = plane.namespace()
    plane.api.apply(
        [
            queues.flavor(name),
            queues.cluster_queue(name, queues.quota({name: units})),
            queues.local_queue("door", namespace, name),
        ]
    )
    plane.api.wait(f"{queues.GROUP}/clusterqueues/{name}", lambda q: queues.holds(q, "Active"))
    return namespace


@pytest.mark.smoke
def test_a_workload_inside_its_quota_is_admitted_and_the_next_waits(
    control_plane: ControlPlane,
) -> None:
    api = control_plane.api
    namespace = site(control_plane, "admits", units=840)
    first = queues.workload("first", namespace, "door", units=840)
    second = queues.workload("second", namespace, "door", units=840)
    began = time.monotonic()
    api.create(queues.workloads_path(namespace), first)
    path = queues.workloads_path(namespace, "first")
    api.wait(path, lambda one: queues.holds(one, "Admitted"))
    print(f"admitted after {(time.monotonic() - began) * 1000:.0f} ms")

    api.create(queues.workloads_path(namespace), second)
    path = queues.workloads_path(namespace, "second")
    waits = api.wait(path, lambda one: one.get("status", {}).get("conditions"))
    assert "insufficient unused quota" in waits["status"]["conditions"][0]["message"]

    api.delete(queues.workloads_path(namespace, "first"))
    api.wait(path, lambda one: queues.holds(one, "Admitted"))


@pytest.mark.smoke
def test_kueue_refuses_what_makes_no_sense(control_plane: ControlPlane) -> None:
    wrong = queues.cluster_queue("wrong", queues.quota({"none": 840}, borrowing=1))
    with pytest.raises(ApiError, match="borrowingLimit") as refusal:
        control_plane.api.apply([wrong])
    assert refusal.value.code == 422


@pytest.mark.smoke
def test_a_service_account_may_do_what_its_role_says_and_nothing_else(
    control_plane: ControlPlane,
) -> None:
    namespace = control_plane.namespace()
    user = control_plane.service_account(namespace, "reader")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    meta = {"name": "reads", "namespace": namespace}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    binding = {**role, "kind": "RoleBinding", "metadata": meta}
    control_plane.api.apply(
        [
            {**role, "metadata": meta, "rules": [rule]},
            {**binding, "roleRef": reference, "subjects": [subject]},
        ]
    )
    assert control_plane.allowed(user, "list", "pods", namespace)
    assert not control_plane.allowed(user, "create", "pods", namespace)
    reader = control_plane.api.acting_as(user)
    assert reader.items(f"/api/v1/namespaces/{namespace}/pods") == []
    with pytest.raises(ApiError) as refusal:
        reader.items(f"/api/v1/namespaces/{namespace}/secrets")
    assert refusal.value.reason == "Forbidden"

    async def listed() -> int:
        own = control_plane.user_kubeconfig(namespace, "reader")
        async with control_plane.client(own) as client:
            return len((await CoreV1Api(client).list_namespaced_pod(namespace)).items)

    assert asyncio.run(listed()) == 0


@pytest.mark.smoke
def test_the_api_server_and_kueue_come_back_with_all_that_they_knew(
    control_plane: ControlPlane,
) -> None:
    namespace = site(control_plane, "lasting", units=840)
    lease = queues.workload("lease", namespace, "door", units=840)
    control_plane.api.create(queues.workloads_path(namespace), lease)
    path = queues.workloads_path(namespace, "lease")
    control_plane.api.wait(path, lambda one: queues.holds(one, "Admitted"))
    for name in ("kube-apiserver", "kueue"):
        control_plane.processes.end(name)
    with pytest.raises(OSError, match=r"refused|reset"):
        control_plane.api.get(path)
    control_plane.start_again("kube-apiserver")
    control_plane.start_again("kueue")
    assert queues.holds(control_plane.api.get(path), "Admitted")
    queues.clear(control_plane.api)
    assert control_plane.api.items(f"{queues.GROUP}/resourceflavors") == []


def test_a_program_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    etcd = required("etcd").path("etcd")
    processes = Processes(tmp_path)
    try:
        processes.start("etcd", etcd, "--no-such-flag")
        with pytest.raises(ProgramEndedError, match="no-such-flag"):
            processes.wait("etcd", lambda: False, seconds=30)
    finally:
        processes.close()


def test_at_the_end_no_process_is_left_and_the_logs_are(tmp_path: Path) -> None:
    required("etcd", "kube-apiserver")
    with ControlPlane.running(tmp_path / "plane") as plane:
        started = plane.processes.all()
        assert {one.name() for one in started} == {"etcd", "kube-apiserver"}
    assert [one for one in started if one.is_running()] == []
    assert plane.processes.all() == []
    assert "ready to serve client requests" in plane.processes.log("etcd").read_text()
    assert not (tmp_path / "plane" / "etcd").exists()


STARTS_AND_WAITS = """
    import sys, time
    from pathlib import Path
    from tests.controlplane.plane import ControlPlane
    with ControlPlane.running(Path(sys.argv[1])) as plane:
        print(*(one.pid for one in plane.processes.all()), flush=True)
        time.sleep(300)
"""


@pytest.mark.smoke
def test_nothing_outlives_tests_that_are_killed(tmp_path: Path) -> None:
    required("etcd", "kube-apiserver")
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STARTS_AND_WAITS), str(tmp_path / "plane")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as tests:
        assert tests.stdout
        started = [int(pid) for pid in tests.stdout.readline().split()]
        assert len(started) == 2
        os.kill(tests.pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while any(psutil.pid_exists(pid) for pid in started):
        assert time.monotonic() < until, "etcd and kube-apiserver live on"
        time.sleep(0.1)
