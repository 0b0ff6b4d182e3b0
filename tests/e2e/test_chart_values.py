"""The very `hub.extraConfig` of `config/values.yaml`, on the Hub of the chart (5.5) and on 6.1.

Only paths and the governor's address are the test's own; the API of Kubernetes is one that behaves.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hub_ext.lease import Ask, Offer, PodTerms, Problem
from tests.support.fake_kube_api import FakeKube, stays_pending
from tests.support.governor import PREFIX, TOKEN, FakeGovernor
from tests.support.hub import HUB55, ROOT, RealHub

VALUES: dict[str, Any] = YAML(typ="safe").load((ROOT / "config/values.yaml").read_text("utf-8"))
IMAGE = "registry.example/vision/atlas@sha256:" + "a" * 64

CHART = """
# What the chart's own configuration has set before it comes to hub.extraConfig.
c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
c.KubeSpawner.namespace = "hub"
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
c.Spawner.consecutive_failure_limit = 5
"""


def terms(_ask: Ask, offer: Offer) -> PodTerms:
    """Grant a pod in the project's namespace."""
    return PodTerms(
        namespace="gpu-atlas",
        image=IMAGE,
        resource_name="nvidia.com/mig-1g.18gb" if offer.pool else None,
        resource_count=1 if offer.pool else 0,
        priority_class="gpu-commons",
        labels={"gpu-commons.dev/lease": "lease-1"},
        scratch_bytes=20 * 2**30,
    )


@pytest.fixture(scope="module")
def governor() -> Iterator[FakeGovernor]:
    with FakeGovernor.running() as running:
        running.pod_of = terms
        yield running


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(sys.executable, id="6.1"),
        pytest.param(str(HUB55), id="5.5", marks=pytest.mark.hub55),
    ],
)
def hub(
    request: pytest.FixtureRequest, governor: FakeGovernor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RealHub, FakeKube]]:
    if not Path(request.param).exists():
        pytest.skip("the environment of JupyterHub 5.5 is not installed: make .venv-hub55/.ready")
    folder = tmp_path_factory.mktemp("hub")
    tokens = folder / "tokens"
    tokens.mkdir()
    for name in ("governor", "spawner", "agent", "cli"):
        (tokens / name).write_text(TOKEN if name == "spawner" else f"{len(name)}" * 64)
    (extra,) = VALUES["hub"]["extraConfig"].values()
    for said, here in (
        ("http://gpu-commons-governor.jupyterhub.svc:8000", governor.url.removesuffix(PREFIX)),
        ("/etc/gpu-commons/tokens", str(tokens)),
        ("/srv/jupyterhub/gpu-commons", str(folder / "state")),
    ):
        assert said in extra
        extra = extra.replace(said, here)
    with FakeKube.running(folder / "kubeconfig") as kube:
        kube.script = stays_pending
        environment = {"KUBECONFIG": str(folder / "kubeconfig")}
        with RealHub.running(
            folder,
            extra=CHART + extra,
            groups={"vision": ["ada", "bea"]},
            python=request.param,
            environment=environment,
        ) as running:
            running.add_users("ada", "bea")
            yield running, kube


def test_governor_spawner_and_agent_are_known_to_the_hub(hub: tuple[RealHub, FakeKube]) -> None:
    running, _kube = hub
    services = running.rest("GET", "/services").json
    assert {"gpu-commons", "gpu-commons-spawner", "gpu-commons-agent"} <= set(services)
    assert running.service("governor") is None, "the hub starts no governor of its own"


def test_refusals_of_any_number_leave_the_hub_up_and_are_read_as_they_are(
    hub: tuple[RealHub, FakeKube], governor: FakeGovernor
) -> None:
    running, kube = hub
    governor.refuse_with = Problem(
        title="Conflict", status=409, detail="No GPU for you today; ask again.", code="denied"
    )
    try:
        answers = [running.spawn("ada", {"profile": "mig-small"}) for _time in range(7)]
    finally:
        governor.refuse_with = None
    assert {one.status for one in answers} == {409}
    assert all("No GPU for you today; ask again." in one.text for one in answers)
    assert running.alive()
    assert not kube.made


def test_a_granted_start_is_a_pod_as_the_governor_said(hub: tuple[RealHub, FakeKube]) -> None:
    running, kube = hub
    answer = running.spawn("bea", {"profile": "mig-small"})
    assert answer.status in {201, 202}
    assert kube.made_one.wait(30), "no pod was asked for"
    pod = kube.made[-1]
    (container,) = pod["spec"]["containers"]
    assert [namespace for namespace, _name in kube.kept["pods"]] == ["gpu-atlas"]
    assert pod["metadata"]["labels"]["gpu-commons.dev/lease"] == "lease-1"
    assert container["image"] == IMAGE
    assert container["resources"]["limits"]["nvidia.com/mig-1g.18gb"] in {1, "1"}
    assert pod["spec"]["automountServiceAccountToken"] is False
    running.stop("bea")


def test_nothing_in_the_values_works_against_the_governor() -> None:
    assert VALUES["cull"]["enabled"] is False
    assert VALUES["singleuser"]["profileList"] == []
    mounted = VALUES["hub"]["extraVolumeMounts"][0]["mountPath"]
    assert mounted in next(iter(VALUES["hub"]["extraConfig"].values()))
    (volume,) = VALUES["hub"]["extraVolumes"]
    assert volume["secret"]["secretName"] == "gpu-commons-tokens"
