"""Networks of projects: what `check` refuses, and what it says instead."""

from copy import deepcopy
from typing import Any

import pytest
from pydantic import ValidationError

from hub_ext.policy.checks import check
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA


def told(**network: Any) -> list[tuple[str, str, str]]:
    made = deepcopy(DATA)
    made["projects"]["birds"]["network"] = network
    return [
        (one.severity, path_text(one.path), f"{one.message}; {one.remedy}")
        for one in check(Policy.model_validate(made))
    ]


def test_a_sound_one_has_no_problem() -> None:
    assert told(reach="team", internet=False, cidrs=["10.0.0.0/8", "2001:db8::/32"]) == []
    assert told(secondary="storage-net") == []


@pytest.mark.parametrize(
    ("network", "severity", "where", "words"),
    [
        ({"cidrs": ["169.254.169.254/32"]}, "error", ".cidrs[0]", "its own credentials"),
        ({"cidrs": ["fe80::/64"]}, "error", ".cidrs[0]", "no server may reach it"),
        ({"cidrs": ["10.0.0.0/8", "10.0.0.0/8"]}, "error", ".cidrs[1]", "is here twice"),
        ({"reach": "open", "cidrs": ["10.0.0.0/8"]}, "warning", ".cidrs", "every address already"),
        ({"reach": "open", "internet": False}, "warning", ".internet", "write `reach: team`"),
    ],
)
def test_what_is_odd_is_said_with_its_place(
    network: dict[str, Any], severity: str, where: str, words: str
) -> None:
    ((found, path, text),) = told(**network)

    assert (found, path) == (severity, f"projects.birds.network{where}")
    assert words in text


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1/8", "10.0.0.0/33", "web", "", 10])
def test_what_is_no_network_is_refused(text: object) -> None:
    with pytest.raises(ValidationError):
        told(cidrs=[text])


def test_a_project_on_one_machine_has_no_network_of_its_own() -> None:
    made = deepcopy(DATA)
    made["projects"]["maps"]["network"] = {"reach": "open"}

    (found,) = check(Policy.model_validate(made))

    assert path_text(found.path) == "projects.maps.network"
    assert "this is for Kubernetes" in found.message


def with_bandwidth(bandwidth: dict[str, str], node: str) -> list[str]:
    made = deepcopy(DATA)
    made["task_types"] = {"training": {"title": "Training", "bandwidth": bandwidth}}
    for pool in made["pools"].values():
        pool["nodes"][0]["name"] = node
    return [
        f"{path_text(one.path)}: {one.message}"
        for one in check(Policy.model_validate(made))
        if one.severity == "error"
    ]


def test_a_rate_is_for_servers_on_a_cluster() -> None:
    assert with_bandwidth({"egress": "500M"}, "node-1") == []
    (said,) = with_bandwidth({"egress": "500M"}, "localhost")
    assert said.startswith("task_types.training.bandwidth: this is for Kubernetes")


@pytest.mark.parametrize("bandwidth", [{}, {"egress": "0"}, {"egress": "fast"}, {"ingress": "5T"}])
def test_what_is_no_rate_is_refused(bandwidth: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        with_bandwidth(bandwidth, "node-1")
