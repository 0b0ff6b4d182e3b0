"""Which task type a choice comes to, and what follows: weight, longest life, idle rule."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.idle import rule_for
from hub_ext.lease import Choice, ProfileName, TaskTypeName
from hub_ext.policy.catalogue import Person, Resolved, resolve
from hub_ext.policy.model import Policy
from hub_ext.policy.tasks import tasks_open
from tests.support.policies import DATA
from tests.support.pools import person

AT = datetime(2026, 12, 1, tzinfo=UTC)
VERA, SAM = person("vera", "vision"), person("sam", "speech", "night-shift")


def rules() -> Policy:
    """Four types: for everybody, for whole GPUs, for a team, for a group."""
    made: Any = deepcopy(DATA)
    made["task_types"] = {
        "trial": {"title": "Trial", "longest_lifetime": "1h"},
        "training": {"title": "Training", "weight": 500, "flavors": ["gpu"]},
        "service": {
            "title": "Service",
            "weight": 100,
            "teams": ["vision"],
            "idle": "calm",
            "long_running": True,
        },
        "night": {"title": "Night run", "groups": ["night-shift"]},
    }
    made["idle"]["calm"] = {"applies": [], "limit": "7d", "notice": "1h"}
    made["pools"]["slices"]["normal_lifetime"] = "2h"
    made["profiles"]["pair"]["task_type"] = "training"
    made["profiles"]["secret"]["task_type"] = "service"
    return Policy.model_validate(made)


def chosen(who: Person, profile: str, task: str | None = None, **more: Any) -> Resolved:
    """Resolve one choice."""
    named = None if task is None else TaskTypeName(task)
    choice = Choice(profile=ProfileName(profile), task_type=named, **more)
    return resolve(rules(), who, choice, AT)


def test_rights_and_flavors_say_what_is_open() -> None:
    policy = rules()
    assert tasks_open(policy, VERA, "vision", "small") == ("trial", "service")
    assert tasks_open(policy, VERA, "vision", "pair") == ("trial", "training", "service")
    assert tasks_open(policy, SAM, "speech", "small") == ("trial", "night")


def test_the_profile_names_the_type_where_nobody_else_does() -> None:
    one = chosen(VERA, "pair")
    assert (one.task_type, one.task_title, one.weight) == ("training", "Training", 500)


def test_without_any_it_is_unlabelled_and_has_no_weight() -> None:
    one = chosen(VERA, "small")
    assert (one.task_type, one.task_title, one.weight, one.long_running) == (None, "", 0, False)


def test_a_default_that_is_not_open_to_somebody_is_no_ground_to_refuse_them() -> None:
    assert chosen(SAM, "secret").task_type is None


@pytest.mark.parametrize(
    ("who", "profile", "task", "code", "status", "words"),
    [
        (SAM, "small", "service", "task-type-not-open", 403, "You can choose: 'trial', 'night'."),
        (VERA, "small", "training", "task-type-not-for-profile", 400, "'trial', 'service'"),
        (VERA, "small", "servise", "unknown-task-type", 400, "Did you mean 'service'?"),
    ],
)
def test_a_refused_type_names_the_open_ones(
    who: Person, profile: str, task: str, code: str, status: int, words: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        chosen(who, profile, task)
    assert (caught.value.code, caught.value.status) == (code, status)
    assert words in caught.value.message
    assert "trial" in str(caught.value.figures["open"])


def test_where_no_type_is_open_the_words_say_to_leave_it_out() -> None:
    policy = rules().model_copy(update={"task_types": {}})
    choice = Choice(profile=ProfileName("small"), task_type=TaskTypeName("any"))
    with pytest.raises(RefusedError, match="leave it out"):
        resolve(policy, VERA, choice, AT)


def test_the_shortest_limit_holds_and_a_service_has_none_of_the_pool() -> None:
    assert chosen(VERA, "small").longest == timedelta(hours=2)
    assert chosen(VERA, "small", "trial").longest == timedelta(hours=1)
    assert chosen(VERA, "small", "service").longest == timedelta(hours=6)
    with pytest.raises(RefusedError, match="at most in the team"):
        chosen(VERA, "small", "trial", lifetime_s=7200)


def test_a_type_may_have_an_idle_rule_of_its_own() -> None:
    policy = rules()
    ours = rule_for(policy, "mig", chosen(VERA, "small", "service").task_type)
    assert ours is not None
    assert ours[0] == "calm"
    usual = rule_for(policy, "mig", "trial")
    assert usual is not None
    assert usual[0] == "gpus"
    gone = rule_for(policy, "mig", "a type of an older policy")
    assert gone == usual
