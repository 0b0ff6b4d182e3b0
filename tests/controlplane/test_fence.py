"""The second fence around a project, with the controllers of Kubernetes that count behind it."""

from typing import Any

import pytest

from hub_ext.kube.podterms import PRIORITY_CLASS
from hub_ext.kube.render import Site, rendered
from hub_ext.kube.render.kinds import Manifest
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.support.rendering import site_policy

pytestmark = pytest.mark.kube

SPACE = "gpu-voices-two-c3db3cf6"
PODS = f"/api/v1/namespaces/{SPACE}/pods"


@pytest.fixture
def api(full_control_plane: ControlPlane) -> Api:
    made = rendered(site_policy(), Site())
    kinds = ("Namespace", "PriorityClass", "ResourceQuota", "LimitRange")
    mine = [
        one
        for one in made
        if one["kind"] in kinds and SPACE in (one["metadata"]["name"], _space(one))
    ]
    mine += [one for one in made if one["kind"] == "PriorityClass"]
    api = full_control_plane.api
    api.apply(mine)
    full_control_plane.service_account(SPACE, "default")
    api.wait(
        f"/api/v1/namespaces/{SPACE}/resourcequotas/gpu-commons",
        lambda one: one.get("status", {}).get("hard"),
    )
    return api


def _space(one: Manifest) -> str:
    return str(one["metadata"].get("namespace", ""))


def pod(gpus: int, **spec: Any) -> Manifest:
    asked = {"nvidia.com/gpu": str(gpus)}
    container = {
        "name": "main",
        "image": "none",
        "resources": {"limits": asked, "requests": asked},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "tried-"},
        "spec": {"containers": [container], "restartPolicy": "Never", **spec},
    }


def test_governed_pods_beyond_what_the_team_may_hold_are_refused(api: Api) -> None:
    # Speech is guaranteed two cards and never borrows.
    with pytest.raises(ApiError, match="exceeded quota: gpu-commons") as refusal:
        api.create(PODS, pod(3, priorityClassName=PRIORITY_CLASS))
    assert refusal.value.code == 403

    api.create(PODS, pod(2, priorityClassName=PRIORITY_CLASS), dryRun="All")


def test_batch_pods_that_wait_take_nothing_from_servers(api: Api) -> None:
    made = api.create(PODS, pod(8))
    try:
        api.create(PODS, pod(2, priorityClassName=PRIORITY_CLASS), dryRun="All")
    finally:
        api.delete(f"{PODS}/{made['metadata']['name']}", gracePeriodSeconds="0")


def claim(size: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"generateName": "tried-"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": size}}},
    }


def test_no_claim_is_larger_than_the_projects_volume(api: Api) -> None:
    path = PODS.replace("/pods", "/persistentvolumeclaims")

    api.create(path, claim("200Gi"), dryRun="All")
    with pytest.raises(ApiError, match="maximum storage usage per PersistentVolumeClaim"):
        api.create(path, claim("201Gi"), dryRun="All")


def test_a_pod_of_the_hubs_class_is_preempted_by_nobody_of_ours(api: Api) -> None:
    made = api.create(PODS, pod(1, priorityClassName=PRIORITY_CLASS), dryRun="All")

    assert made["spec"]["preemptionPolicy"] == "Never"
