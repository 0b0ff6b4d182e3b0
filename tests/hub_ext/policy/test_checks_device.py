"""Devices that belong to a project: what `check` finds in them."""

from copy import deepcopy
from typing import Any

import pytest

from hub_ext.policy.checks import check
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA


def told(device: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    made = deepcopy(DATA)
    made["projects"]["maps"]["device"] = device
    for place, value in more.items():
        made["projects"][place] = value
    found = check(Policy.model_validate(made))
    return [(path_text(one.path), f"{one.severity}: {one.message}; {one.remedy}") for one in found]


@pytest.mark.parametrize(
    "device",
    [
        {"pool": "slices", "mig": "1g.18gb", "count": 2},
        {"pool": "cards", "gpus": 2},
    ],
)
def test_what_exists_and_is_guaranteed_may_be_kept(device: dict[str, Any]) -> None:
    assert told(device) == []


@pytest.mark.parametrize(
    ("device", "where", "words"),
    [
        ({"pool": "slizes", "mig": "1g.18gb"}, "pool", "did you mean 'slices'?"),
        ({"pool": "vault", "gpus": 1}, "pool", "may not use the pool 'vault'"),
        ({"pool": "slices", "mig": "2g.35gb"}, "", "no profile of its team takes '2g.35gb'"),
        ({"pool": "slices", "mig": "1g.18gb", "count": 9}, "count", "has 4 of 1g.18gb"),
        ({"pool": "cards", "gpus": 2, "count": 2}, "count", "pin 4 GPU of pool 'cards', and 2 is"),
    ],
)
def test_what_cannot_be_kept_is_refused(device: dict[str, Any], where: str, words: str) -> None:
    found = told(device)
    paths = [path for path, _words in found]
    assert f"projects.maps.device{'.' if where else ''}{where}" in paths
    assert any(words in one for _path, one in found)
    assert all(one.startswith("error") for _path, one in found)


def test_all_pins_of_a_pool_are_added_up() -> None:
    pin = {"pool": "slices", "mig": "1g.18gb", "count": 2}
    second = {"team": "vision", "device": dict(pin), "environments": {}}
    third = {"team": "speech", "device": dict(pin), "environments": {}}
    assert any("projects pin 6" in words for _path, words in told(pin, two=second, three=third))


@pytest.mark.parametrize("kind", [{}, {"mig": "1g.18gb", "gpus": 1}])
def test_it_is_of_one_kind(kind: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="give either `mig` or `gpus`"):
        told({"pool": "slices", **kind})
