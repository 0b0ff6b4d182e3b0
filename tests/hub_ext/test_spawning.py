"""Which spawner a hub gets, with the governor beside it or elsewhere, as a site's chart has it."""

import sys
from pathlib import Path
from typing import Any

import pytest
from jupyterhub.app import JupyterHub
from kubespawner import KubeSpawner
from traitlets.config import Config

from hub_ext import configure as subject
from hub_ext import spawning
from hub_ext.configure import configure
from hub_ext.errors import GpuCommonsError
from spawner.kube import GovernedKubeSpawner
from spawner.local import GovernedLocalSpawner


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\n")
    return file


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """Give a directory of tokens that nobody here may write, as a mounted Secret is."""
    folder = tmp_path / "secret"
    folder.mkdir()
    for number, name in enumerate(("governor", "spawner", "cli", "agent")):
        (folder / name).write_text(f"{number}" * 64)
    folder.chmod(0o500)
    return folder


def services(c: Config) -> dict[str, dict[str, Any]]:
    return {service["name"]: service for service in c.JupyterHub.services}


@pytest.mark.parametrize(
    ("chosen", "wanted", "found", "said"),
    [
        (None, None, GovernedLocalSpawner, False),
        (None, "local", GovernedLocalSpawner, False),
        (None, "kubernetes", GovernedKubeSpawner, False),
        ("kubespawner.KubeSpawner", None, GovernedKubeSpawner, True),
        ("kubernetes", None, GovernedKubeSpawner, True),
        (KubeSpawner, None, GovernedKubeSpawner, True),
        ("gpu-commons-kubernetes", None, GovernedKubeSpawner, False),
        (GovernedKubeSpawner, None, GovernedKubeSpawner, False),
        (GovernedKubeSpawner, "kubernetes", GovernedKubeSpawner, False),
        (KubeSpawner, "local", GovernedLocalSpawner, True),
        ("simple", None, GovernedLocalSpawner, True),
    ],
)
def test_the_class_follows_the_site_and_what_is_asked(
    chosen: Any, wanted: Any, found: type, said: bool
) -> None:
    assert spawning.choose(chosen, wanted) == (found, said)


def test_a_class_of_ones_own_must_be_governed() -> None:
    class Own(GovernedKubeSpawner):
        pass

    assert spawning.choose(None, Own) == (Own, False)
    with pytest.raises(GpuCommonsError, match="Derive it from one of the spawners"):
        spawning.choose(None, KubeSpawner)


def test_without_kubespawner_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubespawner", None)
    for name in [one for one in sys.modules if one.startswith("spawner.kube")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(GpuCommonsError, match=r"hub,kubernetes"):
        spawning.choose(None, "kubernetes")


@pytest.mark.parametrize("six", [True, False], ids=["hub6", "hub5"])
def test_a_charts_hub_with_its_governor_elsewhere(
    tmp_path: Path, tokens: Path, monkeypatch: pytest.MonkeyPatch, six: bool
) -> None:
    monkeypatch.setattr(subject, "_HUB_6", six)
    c = Config()
    # What the chart sets before `hub.extraConfig` runs.
    c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
    c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
    c.KubeSpawner.start_timeout = 300
    c.KubeSpawner.consecutive_failure_limit = 5
    configure(
        c,
        governor="http://gpu-commons.hub.svc:8000/",
        tokens=tokens,
        state=tmp_path / "state",
        admins=["ada"],
    )
    assert c.JupyterHub.spawner_class is GovernedKubeSpawner
    governor, agent = services(c)["gpu-commons"], services(c)["gpu-commons-agent"]
    assert governor["url"] == "http://gpu-commons.hub.svc:8000"
    assert "command" not in governor
    assert "command" not in agent
    assert (governor["api_token"], agent["api_token"]) == ("0" * 64, "3" * 64)
    assert c.GovernedMixin.governor_url == (
        "http://gpu-commons.hub.svc:8000/services/gpu-commons/api/v1"
    )
    assert c.GovernedMixin.token_file == str(tokens / "spawner")
    assert c.Spawner.environment["GPU_COMMONS_API_URL"] is spawning.api_url_in_cluster
    assert c.JupyterHub.tornado_settings["slow_spawn_timeout"] == 5
    if not six:
        assert c.KubeSpawner.consecutive_failure_limit == 0


def test_a_secret_that_lacks_a_token_is_named(tmp_path: Path, tokens: Path) -> None:
    tokens.chmod(0o700)
    (tokens / "cli").unlink()
    with pytest.raises(GpuCommonsError, match=r"cli holds no token .* mounted there"):
        configure(Config(), governor="http://g:8000", tokens=tokens, state=tmp_path / "state")


def test_without_a_governor_elsewhere_a_policy_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GpuCommonsError, match="There is no policy file"):
        configure(Config(), state=tmp_path / "state")


def test_on_kubernetes_the_hub_starts_no_agent_beside_itself(tmp_path: Path, policy: Path) -> None:
    c = Config()
    configure(c, policy=policy, state=tmp_path / "state", spawner="kubernetes")
    assert "command" in services(c)["gpu-commons"]
    assert "command" not in services(c)["gpu-commons-agent"]


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ({}, "http://127.0.0.1:8000/base/services/gpu-commons/api/v1"),
        ({"HOST": "10.96.0.7"}, "http://10.96.0.7:80/base/services/gpu-commons/api/v1"),
        (
            {"HOST": "fd00::7", "PORT": "8080"},
            "http://[fd00::7]:8080/base/services/gpu-commons/api/v1",
        ),
    ],
)
def test_pods_find_the_governor_through_the_charts_proxy(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, str], url: str
) -> None:
    for name in ("HOST", "PORT"):
        monkeypatch.delenv(f"PROXY_PUBLIC_SERVICE_{name}", raising=False)
    for name, value in told.items():
        monkeypatch.setenv(f"PROXY_PUBLIC_SERVICE_{name}", value)
    JupyterHub.clear_instance()
    JupyterHub.instance(bind_url="http://127.0.0.1:8000/base/")
    try:
        assert spawning.api_url_in_cluster(None) == url
    finally:
        JupyterHub.clear_instance()
