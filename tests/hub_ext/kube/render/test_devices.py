"""How nodes are cut and shared, what labels them, and the agent beside them."""

import shlex
from typing import Any

import pytest

from hub_ext.kube.render import Site, doubts, rendered
from hub_ext.kube.render.devices import (
    label_script,
    mig_configuration,
    node_labels,
    plugin_configurations,
)
from hub_ext.policy.model import Policy
from tests.support.rendering import of_kind, site_data, site_policy


def with_nodes(pool: str, *nodes: dict[str, Any]) -> Policy:
    data = site_data()
    data["pools"][pool]["nodes"] = list(nodes)
    return Policy.model_validate(data)


def test_every_gpu_of_a_node_is_in_its_cut() -> None:
    policy = site_policy()
    made = mig_configuration(policy)["mig-configs"]
    labels = node_labels(policy)

    assert made[labels["gpu-1"]["nvidia.com/mig.config"]] == [
        {"devices": [0], "mig-enabled": True, "mig-devices": {"1g.18gb": 4, "3g.71gb": 1}},
        {"devices": [1], "mig-enabled": False, "mig-devices": {}},
    ]
    assert made[labels["gpu-2"]["nvidia.com/mig.config"]] == [
        {"devices": [0], "mig-enabled": True, "mig-devices": {"3g.71gb": 2}}
    ]


def test_the_same_cut_has_one_name_in_whatever_order_it_is_written() -> None:
    one = {"gpus": 2, "geometry": ["whole", ["3g.71gb", "3g.71gb"]]}
    policy = with_nodes("slices", {"name": "a", **one}, {"name": "b", **one})

    labels = node_labels(policy)

    assert labels["a"]["nvidia.com/mig.config"] == labels["b"]["nvidia.com/mig.config"]


def test_a_pool_that_selects_by_its_own_cut_keeps_it() -> None:
    policy = site_policy("pools", "slices", "selector", to={"nvidia.com/mig.config": "mine"})

    assert node_labels(policy)["gpu-1"] == {
        "gpu-commons.dev/pool": "slices",
        "nvidia.com/device-plugin.config": "gc-plain",
    }
    assert mig_configuration(policy) == {}


def test_gpus_that_cannot_be_cut_get_no_label_for_a_cut() -> None:
    assert "nvidia.com/mig.config" not in node_labels(site_policy())["gpu-3"]


def test_a_shared_node_is_shared_by_the_policys_number() -> None:
    policy = site_policy()
    name = node_labels(policy)["gpu-5"]["nvidia.com/device-plugin.config"]

    slicing = plugin_configurations(policy)[name]["sharing"]["timeSlicing"]
    assert slicing["resources"] == [{"name": "nvidia.com/gpu", "replicas": 4}]
    assert slicing["renameByDefault"]
    assert slicing["failRequestsGreaterThanOne"]


def test_a_pool_may_keep_the_name_of_whole_gpus() -> None:
    policy = site_policy("pools", "turns", "shared_resource", to="nvidia.com/gpu")
    name = node_labels(policy)["gpu-5"]["nvidia.com/device-plugin.config"]

    assert name == "gc-share-4-as-gpu"
    assert not plugin_configurations(policy)[name]["sharing"]["timeSlicing"]["renameByDefault"]


def test_a_mixture_of_shares_on_a_node_is_said() -> None:
    policy = with_nodes("turns", {"name": "n", "gpus": 2, "geometry": [{"share": 4}, "whole"]})

    assert "node n: the device plugin shares all whole GPUs" in "\n".join(doubts(policy))
    assert plugin_configurations(policy) == {}


def test_a_node_in_two_pools_is_said_and_left_alone() -> None:
    policy = with_nodes("turns", {"name": "gpu-3", "gpus": 1, "geometry": [{"share": 4}]})

    assert "node gpu-3 is in the pools cards, turns" in "\n".join(doubts(policy))
    assert "gpu-3" not in node_labels(policy)


def test_the_hubs_own_machine_is_no_node() -> None:
    policy = with_nodes("turns", {"name": "localhost", "gpus": 1, "geometry": [{"share": 4}]})

    assert "localhost is no machine of a cluster" in "\n".join(doubts(policy))
    assert "localhost" not in node_labels(policy)


def test_a_sound_policy_leaves_no_doubt() -> None:
    assert list(doubts(site_policy())) == []


def test_commands_label_nodes_whatever_they_are_called() -> None:
    policy = with_nodes("cards", {"name": "x; rm -rf ~", "gpus": 1})

    (line,) = [one for one in label_script(policy).splitlines() if "rm -rf" in one]
    assert shlex.split(line)[:5] == ["kubectl", "label", "--overwrite", "node", "x; rm -rf ~"]


def test_without_an_image_there_is_no_agent() -> None:
    made = rendered(site_policy(), Site())

    assert of_kind(made, "DaemonSet") == {}
    assert "gpu-commons-agent" not in of_kind(made, "Namespace")


@pytest.fixture
def agents() -> dict[str, dict[str, Any]]:
    data = site_data()
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    data["pools"]["cards"] |= {"tolerations": [taint], "runtime_class": "nvidia"}
    site = Site(agent_image="registry.example/agent:1", hub_namespace="hub")
    return of_kind(rendered(Policy.model_validate(data), site), "DaemonSet")


def test_each_pool_has_agents_that_may_stand_where_its_servers_do(
    agents: dict[str, dict[str, Any]],
) -> None:
    inside = agents["gpu-commons-agent/gpu-commons-agent-cards"]["spec"]["template"]["spec"]

    assert inside["nodeSelector"] == {"gpu-commons.dev/pool": "cards"}
    assert inside["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert inside["runtimeClassName"] == "nvidia"


def test_an_agent_has_no_right_on_the_api_server_and_keeps_its_token_off_the_command(
    agents: dict[str, dict[str, Any]],
) -> None:
    for one in agents.values():
        inside = one["spec"]["template"]["spec"]
        (container,) = inside["containers"]
        assert inside["automountServiceAccountToken"] is False
        assert container["args"][:2] == [
            "--url",
            "http://gpu-commons-governor.hub.svc:8000/services/gpu-commons/api/v1",
        ]
        assert not [word for word in container["env"] if "TOKEN" in word["name"]]
