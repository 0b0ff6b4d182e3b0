"""Task types, projects' shares and the times of the contract: what `check` finds in them."""

from copy import deepcopy
from typing import Any

import pytest

from hub_ext.policy.checks import check
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA

TYPES = {
    "training": {"title": "Training", "weight": 500, "flavors": ["gpu"]},
    "service": {"title": "Service", "weight": 100, "idle": "plain", "long_running": True},
    "trial": {"title": "Trial", "teams": ["vision"]},
}


def data() -> dict[str, Any]:
    """Give the sound policy three task types, and `vision` two shares."""
    made = deepcopy(DATA)
    made["task_types"] = deepcopy(TYPES)
    made["profiles"]["pair"]["task_type"] = "training"
    made["projects"]["maps"]["quota"] = {"cards": {"nominal": "2"}}
    return made


def told(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Severity, path and words of every problem."""
    return [
        (one.severity, path_text(one.path), f"{one.message}; {one.remedy}")
        for one in check(Policy.model_validate(made))
    ]


def test_the_sound_one_has_no_problem() -> None:
    assert told(data()) == []


@pytest.mark.parametrize(
    ("place", "value", "severity", "where", "words"),
    [
        ("task_types.trial.teams", ["vision", "visoin"], "error", "[1]", "did you mean 'vision'?"),
        ("task_types.trial.title", "Service", "warning", "", "has the same title"),
        ("task_types.service.idle", "gpu", "error", "", "there is no idle rule 'gpu'"),
        ("task_types.trial.may_preempt", True, "warning", "", "no team has `preemption: by_type`"),
        ("profiles.pair.task_type", "trainings", "error", "", "did you mean 'training'?"),
        ("profiles.small.task_type", "training", "error", "", "is not for this flavor"),
        (
            "idle.spare",
            {"applies": [], "limit": "1h", "notice": "0s"},
            "warning",
            ".applies",
            "names",
        ),
        ("projects.maps.quota.vault", {"nominal": "1"}, "error", "", "nothing to share"),
        ("projects.birds.quota", {"cards": {"nominal": "1"}}, "error", ".cards.nominal", "by '1'"),
        ("projects.maps.quota.cards.nominal", "1", "warning", "", "never becomes a device"),
        ("projects.maps.quota.cards.lending_limit", "3", "warning", "", "lower it"),
        ("pools.cards.starve_after", "4h", "warning", "", "add `normal_lifetime`"),
        ("teams.vision.preemption", "by_type", "warning", "", "no task type has"),
    ],
)
def test_one_fault_is_named_at_its_place(
    place: str, value: object, severity: str, where: str, words: str
) -> None:
    made = data()
    part: Any = made
    *steps, last = place.split(".")
    for step in steps:
        part = part[step]
    part[last] = value
    found = told(made)
    assert [(one[0], one[1]) for one in found] == [(severity, place + where)]
    assert words in found[0][2]


def test_a_type_that_nobody_may_choose_is_told() -> None:
    made = data()
    made["task_types"]["trial"] = {"title": "Trial", "teams": ["speech"], "flavors": ["mig"]}
    made["teams"]["speech"]["quota"] = {"vault": {"nominal": "1"}}
    assert ("warning", "task_types.trial") in [one[:2] for one in told(made)]


def test_a_group_outside_all_teams_may_be_anybodys() -> None:
    made = data()
    made["task_types"]["trial"] = {"title": "Trial", "groups": ["night-shift"]}
    assert told(made) == []


def test_preemption_needs_a_guarantee_and_somebody_below() -> None:
    made = data()
    made["teams"]["vision"]["preemption"] = "by_type"
    made["task_types"]["trial"]["may_preempt"] = True
    (found,) = told(made)
    assert found[1] == "task_types.trial.may_preempt"
    assert "no task type has a lower weight" in found[2]
    made["task_types"]["trial"]["weight"] = 700
    assert told(made) == []
    made["teams"]["vision"]["quota"] = {
        "slices": {"nominal": "0"},
        "cards": {"nominal": "0"},
    }
    del made["projects"]["maps"]["quota"]
    assert ("warning", "teams.vision.preemption") in [one[:2] for one in told(made)]


def test_what_always_borrows_needs_a_bound() -> None:
    made = data()
    del made["projects"]["maps"]["quota"]
    made["teams"]["vision"]["quota"]["cards"]["nominal"] = "1"
    found = [one for one in told(made) if one[1] == "pools.cards"]
    assert len(found) == 1
    assert "'pair' takes 2 GPUs, more than 1 GPU that 'vision' is guaranteed" in found[0][2]
    made["pools"]["cards"] |= {"starve_after": "4h", "normal_lifetime": "1d"}
    assert not [one for one in told(made) if one[1].startswith("pools.cards")]
