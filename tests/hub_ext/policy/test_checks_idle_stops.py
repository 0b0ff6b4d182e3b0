"""Bounds of idle stops that bind nothing: what `check` finds in them."""

from copy import deepcopy
from typing import Any

import pytest

from hub_ext.policy.checks import check
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA


def told(stops: dict[str, Any]) -> list[tuple[str, str]]:
    made = {**deepcopy(DATA), "idle_stops": stops}
    return [
        (path_text(one.path), one.message)
        for one in check(Policy.model_validate(made))
        if one.path[0] == "idle_stops"
    ]


def test_the_defaults_and_stricter_bounds_have_no_problem() -> None:
    assert told({}) == []
    assert told({"most_a_pass": 1, "silent_least": 1, "together_percent": 5}) == []


@pytest.mark.parametrize(
    ("stops", "path", "words"),
    [
        ({"together_percent": 100}, "idle_stops.together_percent", "never holds"),
        (
            {"percent_a_pass": 100, "most_a_pass": 500},
            "idle_stops.percent_a_pass",
            "may stop every server, up to 500",
        ),
        # The shortest limit there is 30m, so that a quiet server is judged each 7 seconds.
        ({"together_within": "5s"}, "idle_stops.together_within", "judged each 7s"),
    ],
)
def test_bounds_that_bind_nothing_are_told(stops: dict[str, Any], path: str, words: str) -> None:
    [(found, message)] = told(stops)
    assert found == path
    assert words in message


def test_nonsense_is_refused() -> None:
    for stops in ({"most_a_pass": 0}, {"silent_percent": 101}, {"together_within": "0s"}):
        with pytest.raises(ValueError, match="validation error"):
            told(stops)
