"""What a project needs at least: the class that sharing gives, and promises that cannot be kept."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Isolation
from hub_ext.policy.checks import check
from hub_ext.policy.isolation import best_of, isolation_of, shortfalls
from hub_ext.policy.model import Policy
from hub_ext.policy.problems import path_text
from tests.support.policies import DATA


def data(**needs: str) -> dict[str, Any]:
    made = deepcopy(DATA)
    made["projects"]["maps"]["needs"] = needs
    return made


def told(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (one.severity, path_text(one.path), f"{one.message}; {one.remedy}")
        for one in check(Policy.model_validate(made))
    ]


def test_classes_have_an_order_from_nothing_to_a_machine_alone() -> None:
    assert [one.value for one in sorted(Isolation, key=lambda one: one.rank)] == [
        "none",
        "time-slice",
        "vgpu",
        "mig",
        "gpu",
        "node",
    ]


def test_the_class_follows_from_the_flavor_and_from_what_is_kept_alone() -> None:
    policy = Policy.model_validate(data())
    assert isolation_of(policy, "slices", "share", None) is Isolation.time_slice
    assert isolation_of(policy, "slices", "mig", None) is Isolation.mig
    assert isolation_of(policy, "slices", "mig", "gpu") is Isolation.gpu
    assert isolation_of(policy, "cards", "gpu", "node") is Isolation.node
    assert isolation_of(policy, None, "none", None) is Isolation.none
    made = data()
    made["pools"]["slices"]["exclusive"] = ["gpu"]
    policy = Policy.model_validate(made)
    assert best_of(policy, "slices", "mig") is Isolation.gpu
    assert best_of(policy, "cards", "gpu") is Isolation.gpu


@pytest.mark.parametrize("least", ["none", "time-slice", "mig", "gpu"])
def test_what_some_profile_gives_may_be_needed(least: str) -> None:
    assert told(data(isolation=least)) == []


@pytest.mark.parametrize(
    ("needs", "where", "words"),
    [
        ({"isolation": "node"}, "isolation", "needed is node, there is gpu"),
        ({"driver": "580.65.06"}, "driver", "needed is 580.65.06, there is not said"),
        ({"toolkit": "1.17.8"}, "toolkit", "needed is 1.17.8, there is not said"),
    ],
)
def test_a_promise_that_no_profile_can_keep_is_refused(
    needs: dict[str, str], where: str, words: str
) -> None:
    ((severity, path, message),) = told(data(**needs))
    assert (severity, path) == ("error", f"projects.maps.needs.{where}")
    assert words in message


def test_one_pool_that_is_new_enough_is_enough() -> None:
    made = data(driver="580.65.06", toolkit="1.17.8")
    made["pools"]["cards"] |= {"driver": "580.95.05", "toolkit": "1.18.0"}
    assert told(made) == []
    made["pools"]["cards"]["driver"] = "570.133.20"
    ((_severity, path, words),) = told(made)
    assert path == "projects.maps.needs.driver"
    assert "there is 570.133.20" in words


@given(
    needs=st.sampled_from([one for one in Isolation if one is not Isolation.vgpu]),
    has=st.sampled_from(list(Isolation)),
    driver=st.sampled_from([None, "550.54.15", "580.65.06"]),
    least=st.sampled_from([None, "550.54.14", "570.133.20"]),
)
def test_nothing_is_missed_exactly_where_everything_is_at_least_what_is_needed(
    needs: Isolation, has: Isolation, driver: str | None, least: str | None
) -> None:
    made = data(isolation=needs.value, **({} if least is None else {"driver": least}))
    if driver is not None:
        made["pools"]["cards"]["driver"] = driver
    policy = Policy.model_validate(made)
    new_enough = least is None or (driver is not None and driver > least)
    missed = shortfalls(policy, "maps", "cards", has)
    assert {one.what for one in missed} == {
        what
        for what, kept in (("isolation", has.rank >= needs.rank), ("driver", new_enough))
        if not kept
    }
    assert shortfalls(policy, None, "cards", has) == ()
