"""What is rendered, on a real API server with a real Kueue: accepted, applied, mended, removed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.kube.render import Manifest, Site, kueue_configuration, rendered
from hub_ext.kube.render.kinds import KINDS, place_of
from hub_ext.kube.render.marks import LABEL_RENDERED, RENDERED
from hub_ext.kube.render.site import user_of
from hub_ext.kube.render.text import yaml_text
from hub_ext.policy.load import load
from hub_ext.policy.model import Policy
from tests.controlplane import queues
from tests.controlplane.api import ApiError
from tests.controlplane.kueue import kueue_with
from tests.controlplane.plane import ControlPlane
from tests.support.rendering import PLACE, of_kind, site_data, site_policy

pytestmark = [pytest.mark.kube, pytest.mark.smoke]

POLICY = PLACE / "policy.yaml"
IMAGE = "registry.example/gpu-commons:1.0"
SITE = Site(agent_image=IMAGE, governor_image=IMAGE, device_namespace="gpu-operator")
FOREIGN = ("jupyterhub", "gpu-operator")
"""Namespaces that somebody else makes: the hub's, and the device plugin's."""


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give the control plane without anything that was rendered, and leave it so."""
    for name in FOREIGN:
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        control_plane.api.apply([made])
    _clear(control_plane)
    yield control_plane
    _clear(control_plane)


def _clear(plane: ControlPlane) -> None:
    for kind in reversed(KINDS):
        for one in _ours(plane, kind):
            if kind != "Namespace":
                plane.api.delete(_path({**one, "kind": kind}))


def _ours(plane: ControlPlane, kind: str) -> list[Manifest]:
    until = time.monotonic() + 30
    while True:
        try:
            return plane.api.items(KINDS[kind].path(), labelSelector=f"{LABEL_RENDERED}={RENDERED}")
        except ApiError as error:
            if error.code == 404:  # a kind that this cluster does not know
                return []
            if error.code != 429 or time.monotonic() > until:
                raise
        time.sleep(0.2)  # the server is still making room for a new kind


def _path(one: Manifest) -> str:
    kind, namespace, name = place_of(one)
    return KINDS[kind].path(namespace, name)


def render(plane: ControlPlane, *words: str, policy: Path = POLICY) -> int:
    return main(["render", "--policy", str(policy), "--kubeconfig", str(plane.kubeconfig), *words])


EXAMPLE = load(PLACE.parents[2] / "config/examples/kubernetes.yaml").policy


@pytest.mark.parametrize("site", [SITE, SITE.model_copy(update={"namespace": "jupyterhub"})])
@pytest.mark.parametrize("policy", [site_policy(), EXAMPLE], ids=["tests", "example"])
def test_every_rendered_object_passes_a_dry_run_on_the_server(
    plane: ControlPlane, policy: Policy, site: Site
) -> None:
    made = rendered(policy, site)
    plane.api.apply(of_kind(made, "Namespace").values())

    for one in made:
        plane.api.apply([one], dryRun="All")


def test_after_applying_nothing_differs(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render(plane, "--diff") == 1
    assert render(plane, "--apply") == 0
    capsys.readouterr()

    assert render(plane, "--diff") == 0
    assert capsys.readouterr().out == ""

    for one in of_kind(rendered(site_policy(), SITE), "ClusterQueue").values():
        plane.api.wait(_path(one), lambda queue: queues.holds(queue, "Active"))


def test_a_change_by_hand_is_told_and_mended(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render(plane, "--apply") == 0
    path = KINDS["ClusterQueue"].path(None, "gc-robotics")
    loop: Manifest = {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}
    plane.api.patch(path, loop, fieldManager="somebody")
    plane.api.patch(path, {"metadata": {"labels": {"example.org/theirs": "stays"}}})
    capsys.readouterr()

    assert render(plane, "--diff") == 1
    told = capsys.readouterr().out
    assert told.startswith("mend ClusterQueue gc-robotics: was changed in the cluster, last by ")
    assert "-    withinClusterQueue: LowerPriority" in told

    assert render(plane, "--apply") == 0
    assert render(plane, "--diff") == 0
    mended = plane.api.get(path)
    assert mended["spec"]["preemption"]["withinClusterQueue"] == "Never"
    assert mended["metadata"]["labels"]["example.org/theirs"] == "stays"


def test_a_project_that_is_no_more_loses_its_queue_and_keeps_its_files(
    plane: ControlPlane, tmp_path: Path
) -> None:
    assert render(plane, "--apply") == 0
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "project", "namespace": "gpu-sky-survey"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    plane.api.create("/api/v1/namespaces/gpu-sky-survey/persistentvolumeclaims", claim)
    fewer = tmp_path / "policy.yaml"
    data = site_data()
    del data["projects"]["sky-survey"]
    fewer.write_text(yaml_text(data))

    assert render(plane, "--apply", policy=fewer) == 0

    plane.api.wait_gone(KINDS["ClusterQueue"].path(None, "gc-vision.sky-survey"))
    assert plane.api.find("/api/v1/namespaces/gpu-sky-survey/persistentvolumeclaims/project")
    assert render(plane, "--diff", policy=fewer) == 0


def test_leases_of_a_project_that_is_no_more_go_on_and_count(
    plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    governor = plane.api.acting_as(user_of("jupyterhub", "gpu-commons-governor"))
    whole, fewer = tmp_path / "whole.yaml", tmp_path / "fewer.yaml"
    data = site_data()
    del data["projects"]["cell-atlas"]["quota"]
    whole.write_text(yaml_text(data))
    del data["projects"]["sky-survey"]
    fewer.write_text(yaml_text(data))
    assert render(plane, "--apply", policy=whole) == 0
    old, new = "gpu-sky-survey", "gpu-cell-atlas"
    path = queues.workloads_path(old, "lease")
    governor.create(queues.workloads_path(old), _lease(old, "cards"))
    plane.api.wait(path, lambda one: queues.holds(one, "Admitted"))
    queue = KINDS["ClusterQueue"].path(None, "gc-vision.sky-survey")
    plane.api.wait(queue, lambda one: one["status"].get("reservingWorkloads"))
    capsys.readouterr()

    assert render(plane, "--apply", policy=fewer) == 0

    told = capsys.readouterr()
    assert "drain ClusterQueue gc-vision.sky-survey" in told.out
    assert "wait Namespace gpu-sky-survey" in told.err
    plane.api.wait(queue, lambda one: one["spec"]["stopPolicy"] == "Hold")
    kept = plane.api.get(path)
    assert queues.holds(kept, "Admitted")
    assert not queues.holds(kept, "Evicted")
    # All eight cards less the one and a half that the lease has: 6720 - 1260 = 5460 units.
    for name, units in (("more", 5461), ("fits", 5460)):
        one = _lease(new, "cards", units)
        one["metadata"]["name"] = name
        governor.create(queues.workloads_path(new), one)
    plane.api.wait(queues.workloads_path(new, "fits"), lambda w: queues.holds(w, "Admitted"))
    assert not queues.holds(plane.api.get(queues.workloads_path(new, "more")), "Admitted")
    assert render(plane, "--diff", policy=fewer) == 0

    for place in (path, queues.workloads_path(new, "fits"), queues.workloads_path(new, "more")):
        governor.delete(place)
    plane.api.wait(queue, lambda one: not one["status"].get("reservingWorkloads"))
    assert render(plane, "--diff", policy=fewer) == 1
    assert render(plane, "--apply", policy=fewer) == 0
    plane.api.wait_gone(queue)
    assert render(plane, "--diff", policy=fewer) == 0


def test_a_changed_policy_can_be_applied_over_the_former(
    plane: ControlPlane, tmp_path: Path
) -> None:
    assert render(plane, "--apply") == 0
    data = site_data()
    data["task_types"]["training"]["weight"] = 700
    data["teams"]["vision"]["quota"]["cards"] = {"nominal": "3", "borrowing_limit": "2"}
    data["projects"]["cell-atlas"].pop("quota")
    changed = tmp_path / "policy.yaml"
    changed.write_text(yaml_text(data))

    assert render(plane, "--apply", policy=changed) == 0
    assert render(plane, "--diff", policy=changed) == 0
    assert render(plane, "--apply") == 0
    assert render(plane, "--diff") == 0


def test_one_namespace_for_all_can_be_applied(plane: ControlPlane) -> None:
    words = ("--namespace", "jupyterhub")

    assert render(plane, *words, "--apply") == 0
    assert render(plane, *words, "--diff") == 0


def test_a_kind_that_the_cluster_lacks_is_said(
    plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site.yaml"
    site.write_text("service_monitor: true\n")

    assert render(plane, "--site", str(site), "--apply") == 2

    assert "this cluster knows no ServiceMonitor" in capsys.readouterr().err


def test_without_rights_the_words_say_so(
    plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    plane.service_account("jupyterhub", "nobody")
    poor = plane.user_kubeconfig("jupyterhub", "nobody")

    assert main(["render", "--policy", str(POLICY), "--diff", "--kubeconfig", str(poor)]) == 2

    assert "may not" in capsys.readouterr().err


def test_governor_and_hub_may_do_what_they_must_and_no_more(plane: ControlPlane) -> None:
    assert render(plane, "--apply") == 0
    governor = user_of("jupyterhub", "gpu-commons-governor")
    hub = user_of("jupyterhub", "hub")
    space, kueue = "gpu-cell-atlas", "kueue.x-k8s.io"

    for verb in ("get", "list", "watch", "create", "patch", "delete"):
        assert plane.allowed(governor, verb, "workloads", space, kueue)
        assert not plane.allowed(hub, verb, "workloads", space, kueue)
    assert plane.allowed(governor, "patch", "workloads/status", space, kueue)
    assert plane.allowed(governor, "list", "workloads", "", kueue)
    for verb in ("create", "delete", "list"):
        assert plane.allowed(hub, verb, "pods", space)
        assert not plane.allowed(hub, verb, "pods", "default")
        assert not plane.allowed(hub, verb, "secrets", space)
        assert not plane.allowed(governor, verb, "secrets", "jupyterhub")
    assert plane.allowed(hub, "create", "persistentvolumeclaims", space)
    assert not plane.allowed(hub, "delete", "persistentvolumeclaims", space)
    assert not plane.allowed(governor, "create", "pods", space)
    assert not plane.allowed(governor, "patch", "clusterqueues", "", kueue)


def test_batch_work_and_leases_share_the_quota_that_is_rendered(plane: ControlPlane) -> None:
    policy = site_policy()
    made = kueue_configuration(policy, SITE)
    # The integration of jobs needs the controllers of Kubernetes, and none run here.
    settings = {"resources": made["resources"], "integrations": {"frameworks": ["pod"]}}
    settings["managedJobsNamespaceSelector"] = made["managedJobsNamespaceSelector"]
    assert render(plane, "--apply") == 0
    space = "gpu-team-robotics"
    plane.service_account(space, "default")
    path = f"/api/v1/namespaces/{space}/pods"
    with kueue_with(plane, **settings):
        _delete_guards(plane, space)
        # Robotics holds two GPUs, cut into eight turns; a lease has one and a half of them.
        plane.api.create(
            queues.workloads_path(space),
            _lease(space, "turns"),
        )
        plane.api.wait(queues.workloads_path(space, "lease"), lambda w: queues.holds(w, "Admitted"))
        for name in ("first", "second", "third"):
            plane.api.create(path, _batch(name))
            time.sleep(1.1)  # Kueue orders by whole seconds
        for name in ("first", "second"):
            plane.api.wait(f"{path}/{name}", lambda one: not one["spec"].get("schedulingGates"))
        assert plane.api.get(f"{path}/third")["spec"]["schedulingGates"]
        plane.api.delete(queues.workloads_path(space, "lease"))
        plane.api.wait(f"{path}/third", lambda one: not one["spec"].get("schedulingGates"))
        first = plane.api.get(f"{path}/first")
        assert first["spec"]["nodeSelector"] == {"gpu-commons.dev/pool": "turns"}
        for name in ("first", "second", "third"):
            plane.api.patch(f"{path}/{name}", {"metadata": {"finalizers": None}})
            plane.api.delete(f"{path}/{name}", gracePeriodSeconds="0")


def _lease(space: str, pool: str, units: int = 1260) -> Manifest:
    """Make the Workload of a lease, which names its pool by its selector."""
    whole = queues.workload("lease", space, "gpu-commons", units=units)
    template = whole["spec"]["podSets"][0]["template"]["spec"]
    template["nodeSelector"] = {"gpu-commons.dev/pool": pool}
    return whole


def _batch(name: str) -> Manifest:
    """Make a batch pod for one turn, as `restricted` demands it."""
    resources = {"nvidia.com/gpu.shared": "1"}
    container = {
        "name": "main",
        "image": "none",
        "resources": {"limits": resources, "requests": {**resources, "cpu": "1"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    labels = {"kueue.x-k8s.io/queue-name": "gpu-commons", "kueue.x-k8s.io/priority-class": "gc-job"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }


def _delete_guards(plane: ControlPlane, space: str) -> None:
    """Take the admission policies away: this is about quota, and the tests' Kueue is the admin."""
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        for one in _ours(plane, kind):
            plane.api.delete(_path({**one, "kind": kind}))
    until = time.monotonic() + 30
    while True:
        try:
            plane.api.create(f"/api/v1/namespaces/{space}/pods", _batch("tried"), dryRun="All")
            plane.api.create(queues.workloads_path(space), _lease(space, "turns"), dryRun="All")
        except ApiError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return
