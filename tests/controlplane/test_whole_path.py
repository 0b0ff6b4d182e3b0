"""Everything at once: browser, hub, governor, Kueue, scheduler, JupyterLab with its panel.

The cluster is set up by `gpu-commons render` alone; hub and governor have the accounts it names.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from hub_ext.cli import main
from hub_ext.kube.render import Site, kueue_configuration
from hub_ext.policy.load import load
from tests.controlplane import queues
from tests.controlplane.fixtures import own_control_plane, required
from tests.controlplane.hubs import ACCOUNT, kube_hub, server_pods
from tests.controlplane.kubelets import Kubelet
from tests.controlplane.plane import ControlPlane
from tests.controlplane.programs import PROGRAMS
from tests.controlplane.workers import start_controllers, start_kwok, start_scheduler
from tests.e2e.rules import GROUPS, write_rules
from tests.support.hub import RealHub, governed
from tests.support.lab_browser import LabPage, chromium
from tests.support.lab_server import place_extension
from tests.support.web import call

pytestmark = [pytest.mark.kube, pytest.mark.hub, pytest.mark.browser, pytest.mark.timeout(420)]

HOME = "jupyterhub"
SITE = Site(hub_namespace=HOME, hub=ACCOUNT)
NODE, POOL, MIG = "gpu-1", "slices", "1g.18gb"
RULES = {
    "pools": {
        POOL: {
            "model": "h200-141gb",
            "nodes": [{"name": NODE, "gpus": 1, "geometry": [[MIG] * 3]}],
        }
    },
    "projects": {"atlas": {"team": "vision"}, "voices": {"team": "language"}},
}
CONFIG = """
c.KubeSpawner.environment.update({given!r})
c.GovernedKubeSpawner.scheduling_timeout = 20
c.KubeSpawner.delete_grace_period = 2
"""


@dataclass
class Whole:
    """A site on a cluster."""

    plane: ControlPlane
    hub: RealHub
    node: Kubelet

    def workloads(self, namespace: str) -> list[str]:
        """Names of a namespace's admitted Workloads."""
        found = self.plane.api.items(queues.workloads_path(namespace))
        return [one["metadata"]["name"] for one in found if queues.holds(one, "Admitted")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    required(*PROGRAMS)
    folder = tmp_path_factory.mktemp("whole")
    policy = write_rules(folder / "policy.yaml", **RULES)
    with own_control_plane(
        folder / "plane", **kueue_configuration(load(policy).policy, SITE)
    ) as plane:
        start_controllers(plane)
        start_scheduler(plane)
        start_kwok(plane)
        plane.api.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}])
        resources, labels = {f"nvidia.com/mig-{MIG}": "3"}, {"gpu-commons.dev/pool": POOL}
        with Kubelet.running(plane, NODE, resources=resources, labels=labels) as node:
            apply(plane, policy, folder)
            extra = config(plane, policy, folder)
            with kube_hub(node, folder / "hub", HOME, groups=GROUPS, extra=extra) as hub:
                hub.wait(lambda: answers(hub), "the governor to answer")
                yield Whole(plane, hub, node)


def answers(hub: RealHub) -> bool:
    """Whether the governor answers; it misses the agent, which a cluster runs as pods."""
    return call("GET", f"{hub.url}/services/gpu-commons/healthz").status == 200


def apply(plane: ControlPlane, policy: Path, folder: Path) -> None:
    """Let `gpu-commons render` make the cluster what the policy says."""
    site = folder / "site.yaml"
    site.write_text(json.dumps({"hub_namespace": HOME, "hub": ACCOUNT}))
    words = ["--policy", str(policy), "--site", str(site), "--kubeconfig", str(plane.kubeconfig)]
    assert main(["render", *words, "--apply"]) == 0


def config(plane: ControlPlane, policy: Path, folder: Path) -> str:
    settings = {
        "engine": "kueue",
        "kubeconfig": str(plane.user_kubeconfig(HOME, SITE.governor)),
        "kube_hub_namespace": HOME,
        "cycle_s": 0.5,
        "reconcile_s": 2,
        "intents_s": 0.2,
    }
    ours = governed(
        policy, folder / "hub/state", spawner="kubernetes", agent=False, settings=settings
    )
    return CONFIG.format(given=place_extension(folder / "jupyter")) + ours


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[BrowserContext]:
    with chromium(tmp_path / "profile") as context:
        yield context


def test_browser_a_person_gets_a_mig_device_through_kueue_and_sees_what_it_costs(
    whole: Whole, browser: BrowserContext
) -> None:
    hub, page = whole.hub, browser.new_page()
    page.goto(f"{hub.url}/hub/login")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("any")
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{hub.url}/hub/spawn")
    page.get_by_role("radio", name="Small slice").check()
    page.locator("[type=submit]").click()
    page.wait_for_url("**/user/ada/lab**", timeout=60_000)
    (pod,) = server_pods(whole.plane, "gpu-atlas")
    (name,) = whole.workloads("gpu-atlas")
    assert pod["metadata"]["labels"]["gpu-commons.dev/lease"] == name
    assert pod["spec"]["nodeName"] == NODE

    lab = LabPage(page, f"{hub.url}/user/ada", token="")
    expect(lab.status).to_contain_text("so far")
    lab.open()
    expect(lab.panel).to_contain_text("Guaranteed")
    lab.picture("kube-whole-path")

    hub.stop_server("ada")
    hub.wait(lambda: not hub.leases(), "the lease to close")
    hub.wait(lambda: whole.workloads("gpu-atlas") == [], "the Workload to go")
    assert server_pods(whole.plane, "gpu-atlas") == []
