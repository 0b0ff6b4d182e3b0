"""Thresholds of anomalies that can never be met: what `check` finds in them."""

from copy import deepcopy
from typing import Any

from hub_ext.policy.checks import check
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA


def told(rules: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    made = {**deepcopy(DATA), **more, "anomalies": rules}
    return [
        (path_text(one.path), one.message)
        for one in check(Policy.model_validate(made))
        if one.path[0] == "anomalies"
    ]


def test_a_sound_policy_and_the_defaults_have_no_problem() -> None:
    assert told({}) == []
    assert told({"hoarding": "1h", "pool_least": "2"}) == []


def test_a_pool_that_is_nowhere_so_large_is_named() -> None:
    [(path, words)] = told({"pool_least": "4000"})
    assert path == "anomalies.pool_least"
    assert "no pool is so large" in words


def test_a_dear_lease_needs_prices() -> None:
    [(path, words)] = told({"dear_least": "50"}, prices=[])
    assert path == "anomalies.dear_least"
    assert "nothing is priced" in words


def test_what_needs_readings_that_are_not_kept_is_refused() -> None:
    assert [path for path, _words in told({"gaming": "25h", "hoarding": "2d"})] == [
        "anomalies.hoarding",
        "anomalies.gaming",
    ]
