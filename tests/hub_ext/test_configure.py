"""configure() on configurations as sites have them; the hubs of the e2e tests use it for real."""

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from jupyterhub.app import JupyterHub
from traitlets.config import Config

from hub_ext import configure as subject
from hub_ext.configure import ACCESS, configure
from hub_ext.errors import GpuCommonsError, IntruderError
from hub_ext.spawning import api_url_for_servers
from spawner.local import GovernedLocalSpawner

ROOT = Path(__file__).parents[2]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\n")
    return file


@pytest.fixture(params=[True, False], ids=["hub6", "hub5"])
def on_6(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(subject, "_HUB_6", request.param)
    on_6: bool = request.param
    return on_6


def roles(c: Config) -> dict[str, dict[str, Any]]:
    return {role["name"]: role for role in c.JupyterHub.load_roles}


def services(c: Config) -> dict[str, dict[str, Any]]:
    return {service["name"]: service for service in c.JupyterHub.services}


def test_an_empty_configuration_becomes_a_governed_one(
    tmp_path: Path, policy: Path, on_6: bool
) -> None:
    c = Config()
    state = configure(c, policy=policy, state=tmp_path / "state", devices="simulated")
    port = state.ports()["governor"]
    governor = services(c)["gpu-commons"]
    assert governor["url"] == f"http://127.0.0.1:{port}"
    assert governor["command"] == [sys.executable, "-P", "-m", "hub_ext", "governor"]
    assert governor["api_token"] == (tmp_path / "state/tokens/governor").read_text()
    assert governor["environment"]["GPU_COMMONS_POLICY"] == str(policy)
    assert governor["environment"]["GPU_COMMONS_DEVICES"] == "simulated"
    assert "url" not in services(c)["gpu-commons-spawner"]
    assert "command" not in services(c)["gpu-commons-spawner"]
    assert "url" not in services(c)["gpu-commons-agent"]
    assert len({service["api_token"] for service in c.JupyterHub.services}) == 4
    assert roles(c)["gpu-commons-cli"]["scopes"] == ["custom:gpu-commons:admin", ACCESS]
    start, stranger = ("start:servers", "servers") if on_6 else ("servers", "start:servers")
    assert start in roles(c)["gpu-commons-governor"]["scopes"]
    assert stranger not in roles(c)["gpu-commons-governor"]["scopes"]
    assert c.JupyterHub.spawner_class is GovernedLocalSpawner
    assert c.GovernedMixin.token_file == str(tmp_path / "state/tokens/spawner")
    assert c.GovernedMixin.governor_url == (f"http://127.0.0.1:{port}/services/gpu-commons/api/v1")
    assert c.JupyterHub.tornado_settings == {"slow_spawn_timeout": 5}
    if on_6:
        assert c.JupyterHub.extra_user_scopes == {ACCESS}
        assert "user" not in roles(c)
        assert "consecutive_failure_limit" not in c.Spawner
    else:
        assert roles(c)["user"]["scopes"] == ["self", ACCESS]
        assert "extra_user_scopes" not in c.JupyterHub
        assert c.Spawner.consecutive_failure_limit == 0


def test_a_second_start_finds_the_same_tokens_and_port(tmp_path: Path, policy: Path) -> None:
    first, second = Config(), Config()
    for c in (first, second):
        configure(c, policy=policy, state=tmp_path / "state")
    assert first.JupyterHub.services == second.JupyterHub.services


def test_what_the_site_has_set_stays(tmp_path: Path, policy: Path, on_6: bool) -> None:
    c = Config()
    c.JupyterHub.services = [{"name": "culler"}]
    c.JupyterHub.load_roles = [
        {"name": "culler", "services": ["culler"], "scopes": ["list:users"]},
        {"name": "user", "scopes": ["self", "shares!user"]},
    ]
    c.JupyterHub.custom_scopes = {"custom:site:x": {"description": "x"}}
    c.JupyterHub.tornado_settings = {"headers": {"X": "y"}, "slow_spawn_timeout": 30}
    c.Spawner.environment = {"LANG": "C.UTF-8"}
    c.Spawner.server_token_scopes = ["users:activity!user"]
    configure(c, policy=policy, state=tmp_path / "state", admins=["ada"], admin_groups=["ops"])
    assert set(services(c)) == {
        "culler",
        "gpu-commons",
        "gpu-commons-spawner",
        "gpu-commons-agent",
        "gpu-commons-cli",
    }
    assert roles(c)["culler"]["scopes"] == ["list:users"]
    assert [role["name"] for role in c.JupyterHub.load_roles].count("user") == 1
    assert roles(c)["user"]["scopes"] == ["self", "shares!user", ACCESS]
    assert roles(c)["gpu-commons-admin"]["users"] == ["ada"]
    assert roles(c)["gpu-commons-admin"]["groups"] == ["ops"]
    assert "custom:site:x" in c.JupyterHub.custom_scopes
    assert c.JupyterHub.tornado_settings == {"headers": {"X": "y"}, "slow_spawn_timeout": 30}
    assert c.Spawner.environment["LANG"] == "C.UTF-8"
    assert c.Spawner.server_token_scopes == ["users:activity!user", ACCESS]


def test_lists_that_the_site_only_appended_to_are_carried_on(tmp_path: Path, policy: Path) -> None:
    c = Config()
    c.JupyterHub.services.append({"name": "culler"})
    c.JupyterHub.load_roles.append({"name": "culler", "scopes": []})
    c.Spawner.environment.update({"LANG": "C.UTF-8"})
    configure(c, policy=policy, state=tmp_path / "state")
    assert "culler" in services(c)
    assert "culler" in roles(c)
    assert set(c.Spawner.environment) == {"LANG", "GPU_COMMONS_API_URL"}


def test_variables_that_the_chart_sets_on_its_spawner_do_not_hide_ours(
    tmp_path: Path, policy: Path
) -> None:
    c = Config()
    c.KubeSpawner.environment = {"LANG": "C.UTF-8"}
    configure(c, policy=policy, state=tmp_path / "state", spawner="kubernetes")
    assert set(c.KubeSpawner.environment) == {"LANG", "GPU_COMMONS_API_URL"}
    assert set(c.Spawner.environment) == {"GPU_COMMONS_API_URL"}


def test_token_scopes_given_as_a_function_are_asked_and_added_to(
    tmp_path: Path, policy: Path
) -> None:
    c = Config()
    c.Spawner.server_token_scopes = lambda spawner: [f"read:servers!{spawner}"]
    configure(c, policy=policy, state=tmp_path / "state")
    assert c.Spawner.server_token_scopes("server") == ["read:servers!server", ACCESS]


def test_a_spawner_of_the_sites_own_that_is_governed_stays(tmp_path: Path, policy: Path) -> None:
    class Own(GovernedLocalSpawner):
        pass

    c = Config()
    c.JupyterHub.spawner_class = Own
    configure(c, policy=policy, state=tmp_path / "state")
    assert c.JupyterHub.spawner_class is Own


def test_what_is_replaced_is_said(
    tmp_path: Path,
    policy: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(subject, "_say", said.append)
    monkeypatch.setattr(subject, "_HUB_6", False)
    c = Config()
    c.JupyterHub.spawner_class = "simple"
    c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
    c.SimpleLocalProcessSpawner.consecutive_failure_limit = 5
    configure(c, policy=policy, state=tmp_path / "state")
    assert [words.split(":")[0] for words in said] == [
        "GPU Commons replaces spawner_class simple by GovernedLocalSpawner.",
        "GPU Commons sets slow_spawn_timeout to 5 s instead of 0 s",
        "GPU Commons sets consecutive_failure_limit to 0",
    ]
    assert c.JupyterHub.tornado_settings["slow_spawn_timeout"] == 5
    assert c.SimpleLocalProcessSpawner.consecutive_failure_limit == 0
    assert c.Spawner.consecutive_failure_limit == 0


@pytest.mark.parametrize(
    ("name", "value", "prefix"),
    [
        ("base_url", "/jupyter/", "/jupyter"),
        ("bind_url", "http://127.0.0.1:8000/a/b", "/a/b"),
        ("bind_url", "http://127.0.0.1:8000", ""),
    ],
)
def test_the_hubs_prefix_is_part_of_the_governors_address(
    tmp_path: Path, policy: Path, name: str, value: str, prefix: str
) -> None:
    c = Config()
    c.JupyterHub[name] = value
    state = configure(c, policy=policy, state=tmp_path / "state")
    port = state.ports()["governor"]
    assert c.GovernedMixin.governor_url == (
        f"http://127.0.0.1:{port}{prefix}/services/gpu-commons/api/v1"
    )


@pytest.mark.parametrize(
    ("bind_url", "address"),
    [
        ("http://:8000", "http://127.0.0.1:8000/services/gpu-commons/api/v1"),
        ("http://10.1.2.3:80/x", "http://10.1.2.3:80/x/services/gpu-commons/api/v1"),
    ],
)
def test_servers_reach_the_api_through_the_proxy(bind_url: str, address: str) -> None:
    JupyterHub.clear_instance()
    JupyterHub.instance(bind_url=bind_url)
    try:
        assert api_url_for_servers(None) == address
    finally:
        JupyterHub.clear_instance()


def test_settings_reach_the_services_as_environment(tmp_path: Path, policy: Path) -> None:
    c = Config()
    configure(c, policy=policy, state=tmp_path / "s", settings={"cycle_s": 0.5, "period_s": 2})
    assert services(c)["gpu-commons"]["environment"]["GPU_COMMONS_CYCLE_S"] == "0.5"
    assert services(c)["gpu-commons-agent"]["command"][-3:] == ["agent", "--period", "2"]


def test_commands_on_this_machine_learn_who_admits(tmp_path: Path, policy: Path) -> None:
    plain = configure(Config(), policy=policy, state=tmp_path / "a")
    kueue = configure(Config(), policy=policy, state=tmp_path / "b", settings={"engine": "kueue"})
    assert (plain.run()["engine"], kueue.run()["engine"]) == ("embedded", "kueue")
    pods = configure(
        Config(),
        policy=policy,
        state=tmp_path / "c",
        settings={"servers": "pods", "kube_namespace": "research"},
    )
    assert (plain.run()["servers"], pods.run()["servers"]) == ("processes", "pods")
    assert pods.run()["kube_namespace"] == "research"


def test_the_ledgers_address_reaches_the_governor_alone(
    tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "postgresql+psycopg://governor:hush@db/books"
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", address)
    c = Config()
    state = configure(c, policy=policy, state=tmp_path / "state")
    governor = services(c).pop("gpu-commons")
    assert governor["environment"]["GPU_COMMONS_LEDGER_URL"] == address
    assert "hush" not in f"{services(c)['gpu-commons-agent']}{c.Spawner}{governor['command']}"
    assert state.run_file.stat().st_mode & 0o077 == 0
    assert state.run()["ledger_url"] == "postgresql+psycopg://governor@db/books"
    assert "hush" not in state.run_file.read_text()


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("postgresql://a:hu/sh@db:5433/books", "postgresql+psycopg://a@db:5433/books"),
        ("postgresql://a:hu%40sh@db/books", "postgresql+psycopg://a@db/books"),
        (
            "postgresql://a@/books?host=/run/pg&password=hush",
            "postgresql+psycopg://a@/books?host=%2Frun%2Fpg",
        ),
        ("postgresql://a@db/books?sslpassword=hush", "postgresql+psycopg://a@db/books"),
        ("postgresql://a@db/books?passfile=/etc/pw", None),
        ("mysql://a:hush@db/books", ""),
    ],
)
def test_no_password_of_the_ledger_is_written_down(
    tmp_path: Path, policy: Path, address: str, kept: str | None
) -> None:
    state = configure(
        Config(), policy=policy, state=tmp_path / "s", settings={"ledger_url": address}
    )
    text = state.run_file.read_text()
    assert "hu" not in text.replace("hub", "")
    assert kept is None or state.run()["ledger_url"] == kept


def test_a_hub_may_leave_the_agent_to_somebody_else(tmp_path: Path, policy: Path) -> None:
    c = Config()
    configure(c, policy=policy, state=tmp_path / "s", agent=False, api_url="https://hub/api")
    assert c.Spawner.environment == {"GPU_COMMONS_API_URL": "https://hub/api"}
    assert "gpu-commons-agent" not in services(c)
    assert "gpu-commons-agent" not in roles(c)


def test_services_import_what_the_hub_imported(
    tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/site/extras")
    c = Config()
    configure(c, policy=policy, state=tmp_path / "s")
    path = services(c)["gpu-commons"]["environment"]["PYTHONPATH"]
    assert path == f"{ROOT}{os.pathsep}/site/extras"
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(ROOT))
    installed = Config()
    configure(installed, policy=policy, state=tmp_path / "s")
    assert "PYTHONPATH" not in services(installed)["gpu-commons"]["environment"]


def test_a_policy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(GpuCommonsError, match=r"no policy file at .*nowhere\.yaml"):
        configure(Config(), policy=tmp_path / "nowhere.yaml", state=tmp_path / "s")


def test_an_intruder_stops_the_hub_before_its_code_runs(
    tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "spawner.py"
    foreign.write_text("raise SystemExit('foreign code ran')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "spawner"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(IntruderError, match=r"spawner\.py"):
        configure(Config(), policy=policy, state=tmp_path / "s")
