"""The same class on JupyterHub 5.5, which sites of the Helm chart have."""

from collections.abc import Iterator

import pytest

from hub_ext.lease import Liveness
from tests.controlplane.governed import OPTIONS, Cluster, governed_cluster
from tests.controlplane.kubelet import faults
from tests.controlplane.plane import ControlPlane
from tests.support.hub import HUB55
from tests.support.web import call

pytestmark = [pytest.mark.kube, pytest.mark.hub, pytest.mark.hub55]


@pytest.fixture(scope="module")
def cluster(
    full_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    if not HUB55.exists():
        pytest.skip("the environment of JupyterHub 5.5 is not installed: make .venv-hub55/.ready")
    folder = tmp_path_factory.mktemp("governed55")
    with governed_cluster(full_control_plane, folder, python=HUB55) as cluster:
        yield cluster


def test_a_server_starts_and_stops(cluster: Cluster) -> None:
    cluster.hub.start_server("ada", OPTIONS)
    assert call("GET", f"{cluster.hub.url}/user/ada/api").json["version"]
    cluster.hub.stop_server("ada")
    assert cluster.ended().liveness is Liveness.gone
    cluster.clear()


def test_trouble_is_told_in_words(cluster: Cluster) -> None:
    cluster.changes = {"resource_name": "nvidia.com/mig-7g.80gb"}
    assert "too little nvidia.com/mig-7g.80gb left" in cluster.refused("ben")
    cluster.changes = {"annotations": {faults.ANNOTATION: faults.IMAGE}}
    assert "does not come" in cluster.refused("cyd")
    assert cluster.ended(2).liveness is Liveness.gone
    cluster.clear()
    assert cluster.hub.alive()
