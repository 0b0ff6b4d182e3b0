"""What a policy says about Kubernetes: what is taken, and what is refused since it cannot act."""

from copy import deepcopy
from typing import Any

import pytest
from pydantic import ValidationError

from hub_ext.policy.checks import check
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA

TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
SHARED = [{"share": 4}, "whole", "whole", "whole"]


def data() -> dict[str, Any]:
    """Give the sound policy a pool and a project with everything that Kubernetes knows."""
    made = deepcopy(DATA)
    made["pools"]["cards"] |= {
        "selector": {"gpu.example/model": "l40s"},
        "tolerations": [TAINT, {"key": "team", "operator": "Equal", "value": "vision"}],
        "runtime_class": "nvidia",
    }
    made["projects"]["birds"] |= {
        "namespace": "birds",
        "volume": {"size": "200GiB", "class": "fast", "access": "ReadWriteMany"},
        "datasets": ["imagenet", "laion.v2"],
        "pull_secrets": ["registry"],
    }
    made["profiles"]["small"]["scratch"] = "20GiB"
    return made


def changed(place: str, value: object) -> dict[str, Any]:
    made: Any = data()
    part = made
    steps = [int(step) if step.isdigit() else step for step in place.split(".")]
    for step in steps[:-1]:
        part = part.setdefault(step, {}) if isinstance(part, dict) else part[step]
    part[steps[-1]] = value
    return dict(made)


def told(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Severity, path and words of every problem."""
    return [
        (one.severity, path_text(one.path), f"{one.message}; {one.remedy}")
        for one in check(Policy.model_validate(made))
    ]


def test_the_sound_one_has_no_problem() -> None:
    assert told(data()) == []


@pytest.mark.parametrize(
    ("place", "value", "where", "words"),
    [
        ("projects.birds.namespace", "kube-system", "", "belongs to the cluster itself"),
        ("projects.birds.namespace", "default", "", "leave it out: 'gpu-birds' is made then"),
        ("projects.birds.namespace", "gpu-maps", "", "projects and teams that name none"),
        ("projects.maps.namespace", "maps", "", "give an environment with `image`"),
        ("projects.voices.volume", {"size": "1GiB"}, "", "give an environment with `image`"),
        ("projects.voices.datasets", ["a"], "", "give an environment with `image`"),
        ("projects.voices.pull_secrets", ["a"], "", "give an environment with `image`"),
        (
            "projects.birds.datasets",
            ["a", "b", "a"],
            "projects.birds.datasets[2]",
            "'a' is here twice",
        ),
        (
            "pools.cards.selector",
            {"gpu model": "l40s"},
            "pools.cards.selector.gpu model",
            "no machine can carry the label 'gpu model=l40s'",
        ),
        (
            "pools.cards.tolerations",
            [{"key": "nvidia.com/gpu=true:NoSchedule"}],
            "pools.cards.tolerations[0].key",
            "is no key of a taint",
        ),
        ("pools.cards.shared_resource", "nvidia.com/gpu", "", "no GPU of this pool is shared"),
    ],
)
def test_what_cannot_act_is_refused_with_its_remedy(
    place: str, value: object, where: str, words: str
) -> None:
    (problem,) = told(changed(place, value))
    assert problem[:2] == ("error", where or place)
    assert words in problem[2]


@pytest.mark.parametrize("field", ["tolerations", "runtime_class"])
def test_nothing_of_kubernetes_is_said_of_the_machine_the_hub_runs_on(field: str) -> None:
    made = changed("pools.cards.nodes.0.name", "localhost")
    for other in {"tolerations", "runtime_class"} - {field}:
        del made["pools"]["cards"][other]
    (problem,) = told(made)
    assert problem[:2] == ("error", f"pools.cards.{field}")
    assert "`kubectl get nodes`" in problem[2]


def test_scratch_is_of_machines_of_a_cluster_too() -> None:
    (problem,) = told(changed("pools.slices.nodes.0.name", "localhost"))
    assert problem[:2] == ("error", "profiles.small.scratch")


def test_two_projects_never_share_a_namespace() -> None:
    made = data()
    made["projects"]["bees"] = {**made["projects"]["birds"], "datasets": []}
    (problem,) = told(made)
    assert problem[1] == "projects.bees.namespace"
    assert "the project 'birds' has this namespace already" in problem[2]


def test_two_pools_on_the_same_machines_are_pointed_out() -> None:
    made = data()
    made["pools"]["vault"]["selector"] = made["pools"]["cards"]["selector"]
    (problem,) = told(made)
    assert problem[:2] == ("warning", "pools.vault.selector")


def test_shares_are_never_counted_under_the_name_of_whole_gpus_beside_them() -> None:
    made = data()
    made["pools"]["cards"]["nodes"][0]["geometry"] = SHARED
    made["pools"]["cards"]["shared_resource"] = "nvidia.com/gpu"
    assert any("a share for a whole one" in words for _, _, words in told(made))
    made["pools"]["cards"]["shared_resource"] = "nvidia.com/gpu.shared"
    assert not any("shared_resource" in path for _, path, _ in told(made))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("projects.birds.namespace", "gpu.birds", "is no namespace"),
        ("projects.birds.namespace", "B" * 64, "at most 63"),
        ("projects.birds.datasets", ["../etc"], "is no name on Kubernetes"),
        ("projects.birds.datasets", ["a/b"], "is no name on Kubernetes"),
        ("projects.birds.volume.access", "ReadOnlyMany", "ReadWriteMany"),
        ("projects.birds.volume.path", "/etc", "Extra inputs"),
        ("pools.cards.shared_resource", "amd.com/gpu", "nvidia.com/gpu.shared"),
        ("pools.cards.tolerations", [{"key": "a", "value": "b"}], "give `operator: Equal`"),
        ("pools.cards.runtime_class", "", "is no name on Kubernetes"),
    ],
)
def test_what_kubernetes_would_refuse_is_refused_here(
    place: str, value: object, words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        Policy.model_validate(changed(place, value))
