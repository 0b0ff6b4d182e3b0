"""Images: allowed registries, drivers that are new enough, and tiers that exist."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Choice, ProfileName, ProjectName, TaskTypeName, UserName
from hub_ext.policy.catalogue import Person, resolve
from hub_ext.policy.checks import check
from hub_ext.policy.cuda import least_driver, too_old, version_text
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA

DIGEST = "sha256:" + "c" * 64
DEV: dict[str, Any] = {
    "image": "registry.example/vision/torch",
    "digest": DIGEST,
    "tag": "2026.11",
    "contents": {"python": "3.12", "framework": "pytorch 2.9.1", "cuda": "12.4.1"},
}


def data() -> dict[str, Any]:
    made = deepcopy(DATA)
    made["projects"]["maps"]["environments"] = {"dev": deepcopy(DEV), "training": deepcopy(DEV)}
    made["images"] = {"allowed": [r"registry\.example/(vision|speech)/.*"]}
    made["pools"]["cards"]["driver"] = "550.54.15"
    made["task_types"] = {"training": {"title": "Training", "environment": "training"}}
    return made


def told(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (one.severity, path_text(one.path), f"{one.message}; {one.remedy}")
        for one in check(Policy.model_validate(made))
    ]


def test_the_sound_one_has_no_problem() -> None:
    assert told(data()) == []


@pytest.mark.parametrize(
    "image",
    [
        "registry.example/other/torch",
        "evil.example/registry.example/vision/torch",
        "registry.example/vision",
        "registryXexample/vision/torch",
    ],
)
def test_an_image_from_elsewhere_is_refused(image: str) -> None:
    made = data()
    made["projects"]["maps"]["environments"]["dev"]["image"] = image
    ((severity, where, words),) = told(made)
    assert (severity, where) == ("error", "projects.maps.environments.dev.image")
    assert "matches none of `images.allowed` as a whole" in words


def test_a_driver_that_is_too_old_for_an_images_cuda_is_named_with_both_versions() -> None:
    made = data()
    made["projects"]["maps"]["environments"]["dev"]["contents"]["cuda"] = "13.0"
    ((severity, where, words),) = told(made)
    assert (severity, where) == ("error", "projects.maps.environments.dev.contents.cuda")
    assert "CUDA 13.0 needs driver 580.65.06, and the pool 'cards' has 550.54.15" in words
    made["pools"]["cards"]["driver"] = "580.65.06"
    assert told(made) == []
    # The team has no quota in this pool, so its images never run there.
    made["pools"]["vault"]["driver"] = "450.80.02"
    assert told(made) == []


def test_cuda_that_is_newer_than_we_know_is_a_warning() -> None:
    made = data()
    made["projects"]["maps"]["environments"]["dev"]["contents"]["cuda"] = "99.1"
    ((severity, _where, words),) = told(made)
    assert severity == "warning"
    assert "which driver CUDA 99.1 needs is not known here" in words


def test_a_tier_that_no_project_has_is_refused() -> None:
    made = data()
    made["task_types"]["training"]["environment"] = "trainin"
    ((severity, where, words),) = told(made)
    assert (severity, where) == ("error", "task_types.training.environment")
    assert "did you mean 'training'?" in words


@pytest.mark.parametrize(("field", "value"), [("tag", "1"), ("contents", {"cuda": "12"})])
def test_a_prefix_has_neither_tag_nor_contents(field: str, value: object) -> None:
    made = data()
    prefix = {"prefix": "/opt/envs/torch", "digest": DIGEST, field: value}
    made["projects"]["maps"]["environments"]["plain"] = prefix
    ((severity, where, _words),) = told(made)
    assert (severity, where) == ("error", f"projects.maps.environments.plain.{field}")


@pytest.mark.parametrize("pattern", ["(", "[a", "*"])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    made = data()
    made["images"] = {"allowed": [pattern]}
    with pytest.raises(ValueError, match="no regular expression"):
        Policy.model_validate(made)


def test_the_task_type_names_the_environment_else_the_first_is_taken() -> None:
    policy = Policy.model_validate(data())
    person = Person(user=UserName("vera"), groups=("vision",))

    def environment(task: str | None, project: str = "maps") -> str:
        choice = Choice(
            profile=ProfileName("pair"),
            project=ProjectName(project),
            task_type=None if task is None else TaskTypeName(task),
        )
        found = resolve(policy, person, choice, datetime(2026, 12, 1, tzinfo=UTC)).environment
        assert found is not None
        assert found.image == "registry.example/vision/torch"
        return found.name

    assert environment(None) == "dev"
    assert environment("training") == "training"


@given(major=st.integers(10, 13), minor=st.integers(0, 30))
def test_each_release_of_cuda_runs_on_its_least_driver_and_on_none_older(
    major: int, minor: int
) -> None:
    least = least_driver(f"{major}.{minor}")
    assert least is not None
    assert not too_old(version_text(least), least)
    older = (*least[:-1], least[-1] - 1)
    assert too_old(".".join(map(str, older)), least)
    assert least >= (least_driver(f"{major - 1}.0") or ())
