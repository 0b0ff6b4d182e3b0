"""The demands on a real Kueue: as rendered nothing is broken; each breach is read and named."""

import json
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.kube.render import Site as Cluster
from hub_ext.kube.render import kueue_configuration, rendered
from hub_ext.policy.load import load
from hub_ext.statedir import StateDir
from tests.controlplane import queues
from tests.controlplane.plane import ControlPlane
from tests.support.governing import POLICY
from tests.support.kube_scene import Scene

pytestmark = pytest.mark.kube
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}


def on_cluster(plane: ControlPlane, file: Path) -> None:
    """Apply what is rendered of the policy that a doctor looks at, and tell Kueue's settings."""
    policy = load(file).policy
    kinds = {"Namespace", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue"}
    plane.api.apply(one for one in rendered(policy, Cluster()) if one["kind"] in kinds)
    text = json.dumps(kueue_configuration(policy, Cluster()))
    meta = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    data = {"controller_manager_config.yaml": text}
    plane.api.apply([{**CONFIG, "metadata": meta, "data": data}])


def without_queues(plane: ControlPlane) -> None:
    """Take away the queues of the policy, whoever had them made before."""
    api, namespaces = plane.api, ("gpu-maps", "gpu-team-speech")
    for namespace in namespaces:
        for name in ("gpu-commons", "default"):
            api.delete(f"{queues.GROUP}/namespaces/{namespace}/localqueues/{name}")
    for name in ("gc-speech", "gc-vision.maps"):
        api.delete(f"{queues.GROUP}/clusterqueues/{name}")
        api.wait_gone(f"{queues.GROUP}/clusterqueues/{name}")


def told(state: StateDir, plane: ControlPlane, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the doctor says of Kueue."""
    main(["doctor", "--state", str(state.path), "--kubeconfig", str(plane.kubeconfig)])
    said = capsys.readouterr().out.splitlines()
    return [" ".join(line.split()) for line in said if line.split()[1:2] == ["kueue"]]


def test_the_doctor_reads_a_real_kueue_and_names_what_breaks_the_promises(
    control_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = StateDir(tmp_path / "state")
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    state.note(hub="hub", policy=str(file))
    without_queues(control_plane)
    before = told(state, control_plane, capsys)
    assert any(
        "not on the cluster: ClusterQueue gc-speech, gc-vision.maps" in one for one in before
    )

    with Scene.of(control_plane, "demands"):
        on_cluster(control_plane, file)
        assert told(state, control_plane, capsys)[-1:] == [
            "ok kueue Kueue keeps what the 2 queues need"
        ]
        api, queue = control_plane.api, f"{queues.GROUP}/clusterqueues/gc-speech"
        api.patch(queue, {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}})
        api.patch(queue, {"spec": {"stopPolicy": "Hold"}})
        api.apply([queues.local_queue("default", "gpu-maps", "gc-vision.maps")])
        found = "\n".join(told(state, control_plane, capsys))
        assert "wrong kueue gc-speech: withinClusterQueue is LowerPriority" in found
        assert "wrong kueue gc-speech: it is stopped; set its stopPolicy to None" in found
        assert "wrong kueue namespace gpu-maps has a LocalQueue called default" in found
        assert "ok kueue" not in found
        without_queues(control_plane)
