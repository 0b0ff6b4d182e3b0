"""`gpu-commons adopt` on a real API server with a real Kueue, from queues that a site has made."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.policy.load import load
from hub_ext.units import UNITS_PER_GPU
from tests.controlplane import queues
from tests.controlplane.api import Manifest
from tests.controlplane.plane import ControlPlane

pytestmark = [pytest.mark.kube, pytest.mark.smoke]

GPU = "nvidia.com/gpu"


def quota(flavor: str, gpus: str) -> list[Manifest]:
    resources = [{"name": GPU, "nominalQuota": gpus}]
    return [{"coveredResources": [GPU], "flavors": [{"name": flavor, "resources": resources}]}]


@pytest.fixture
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give a cluster with one machine, a sound queue and one that is none of ours."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "adopt-n1",
            "labels": {"adopt": "cards", "nvidia.com/gpu.product": "NVIDIA-L40S"},
        },
    }
    sound = queues.cluster_queue("adopt-sound", quota("adopt-cards", "3"), cohort="adopt")
    strict = queues.cluster_queue("adopt-strict", quota("adopt-cards", "1"), cohort="adopt")
    strict["spec"]["queueingStrategy"] = "StrictFIFO"
    namespace = control_plane.namespace()
    made = [
        node,
        queues.flavor("adopt-cards", adopt="cards"),
        sound,
        strict,
        queues.local_queue("notebooks", namespace, "adopt-sound"),
    ]
    control_plane.api.apply(made)
    control_plane.api.patch(
        "/api/v1/nodes/adopt-n1/status", {"status": {"allocatable": {GPU: "4", "pods": "1"}}}
    )
    yield control_plane
    for path in (
        f"{queues.GROUP}/namespaces/{namespace}/localqueues/notebooks",
        f"{queues.GROUP}/clusterqueues/adopt-sound",
        f"{queues.GROUP}/clusterqueues/adopt-strict",
        f"{queues.GROUP}/resourceflavors/adopt-cards",
        "/api/v1/nodes/adopt-n1",
    ):
        control_plane.api.delete(path)


def test_a_sites_queues_become_a_policy_and_what_breaks_promises_is_told(
    plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.yaml"
    assert main(["adopt", "--kubeconfig", str(plane.kubeconfig), "--output", str(file)]) == 1
    told = capsys.readouterr().err
    assert "adopt-sound: used" in told
    assert "adopt-strict: not used" in told
    assert "set queueingStrategy to BestEffortFIFO" in told
    policy = load(file).policy
    assert policy.teams["adopt-sound"].quota["adopt-cards"].nominal == 3 * UNITS_PER_GPU
    assert "adopt-strict" not in policy.teams
    (machine,) = policy.pools["adopt-cards"].nodes
    assert (machine.name, machine.gpus) == ("adopt-n1", 4)
    assert policy.pools["adopt-cards"].model == "l40s"
