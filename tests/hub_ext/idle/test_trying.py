"""Which idle rules act while others are tried, told as changes of a policy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.idle import rule_for
from hub_ext.idle.trying import (
    Change,
    Switched,
    Trial,
    acting,
    changes,
    form_written,
    forms,
    left,
    written,
)
from hub_ext.policy.model import IdleRule, Policy
from hub_ext.policy.model.idle import OFF
from tests.support.policies import policy, policy_data

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
GPUS = {"applies": ["gpu", "mig"], "limit": "30m", "notice": "10m"}
PLAIN = {"applies": ["none"], "limit": "4h", "notice": "10m"}


def rules(**idle: dict[str, Any]) -> Policy:
    return policy("idle", to=idle)


def agreed(declared: Policy) -> Switched:
    """All of a policy's rules act."""
    return Switched(acting=forms(declared), known=True)


def after(switched: Switched, declared: Policy) -> Switched:
    """Take what a policy changes as the record does."""
    now, trials = dict(switched.acting), dict(switched.trials)
    before = {**switched.before, **now}
    for one in changes(switched, declared):
        match one.step:
            case "trial":
                trials[one.rule] = Trial(one.form, NOON)
            case "acts":
                now[one.rule] = one.form
            case "dropped":
                trials.pop(one.rule)
            case "ended":
                now.pop(one.rule)
    gone = {name: form for name, form in before.items() if now.get(name) != form}
    return Switched(now, trials, gone, known=True)


def steps(switched: Switched, declared: Policy) -> list[tuple[str, str, str]]:
    return [(one.step, one.rule, one.why) for one in changes(switched, declared)]


def limit_of(declared: Policy, switched: Switched, **whose: Any) -> timedelta | None:
    found = rule_for(acting(declared, switched), "gpu", **whose)
    return None if found is None else found[1].limit


def test_a_first_rule_is_tried_and_nobody_is_stopped_by_it() -> None:
    declared = rules(gpus=GPUS)
    assert steps(Switched(), declared) == [("trial", "gpus", "")]
    switched = after(Switched(), declared)
    assert limit_of(declared, switched) is None
    assert steps(switched, declared) == [], "the same policy again changes nothing"


def test_a_changed_rule_is_tried_beside_the_former_tighter_or_looser() -> None:
    switched = agreed(rules(gpus=GPUS, plain=PLAIN))
    for limit in ("10m", "3h"):
        declared = rules(gpus={**GPUS, "limit": limit}, plain=PLAIN)
        assert steps(switched, declared) == [("trial", "gpus", "")]
        assert limit_of(declared, after(switched, declared)) == timedelta(minutes=30)


def test_edits_of_other_things_are_no_change_of_a_rule() -> None:
    written_otherwise = {**GPUS, "applies": ["mig", "gpu"], "start_grace": "15m", "trial": "3d"}
    switched = agreed(rules(gpus=GPUS, plain=PLAIN))
    other = policy_data("idle", to={"plain": PLAIN, "gpus": written_otherwise})
    other["teams"]["vision"]["longest_lifetime"] = "5h"
    assert changes(switched, Policy.model_validate(other)) == ()


def test_a_rule_whose_trial_is_none_acts_at_once() -> None:
    declared = rules(gpus={**GPUS, "limit": "10m", "trial": "0s"})
    switched = agreed(rules(gpus=GPUS))
    assert steps(switched, declared) == [("acts", "gpus", "at-once")]
    assert limit_of(declared, after(switched, declared)) == timedelta(minutes=10)
    # Also in the middle of its trial: whoever edits the policy says so there.
    tried = rules(gpus={**GPUS, "limit": "10m"})
    assert steps(after(switched, tried), declared) == [
        ("dropped", "gpus", "at-once"),
        ("acts", "gpus", "at-once"),
    ]


def test_a_rule_that_is_changed_again_is_tried_anew_and_one_that_is_taken_back_not_at_all() -> None:
    switched = agreed(rules(gpus=GPUS))
    switched = after(switched, rules(gpus={**GPUS, "limit": "10m"}))
    again = rules(gpus={**GPUS, "limit": "20m"})
    assert steps(switched, again) == [("dropped", "gpus", "changed"), ("trial", "gpus", "")]
    switched = after(switched, again)
    back = rules(gpus=GPUS)
    assert steps(switched, back) == [("dropped", "gpus", "taken-back")]
    assert after(switched, back) == agreed(back)


def test_a_removed_rule_stops_nobody_any_more_and_its_trial_is_over() -> None:
    switched = after(agreed(rules(gpus=GPUS)), rules(gpus={**GPUS, "limit": "10m"}))
    without = rules(plain=PLAIN)
    assert steps(switched, without) == [
        ("ended", "gpus", "removed"),
        ("trial", "plain", ""),
        ("dropped", "gpus", "removed"),
    ]
    assert limit_of(without, after(switched, without)) is None


def test_a_rule_under_another_name_goes_on() -> None:
    declared = rules(cards=GPUS)
    switched = agreed(rules(gpus=GPUS))
    assert steps(switched, declared) == [("ended", "gpus", "renamed"), ("acts", "cards", "renamed")]
    assert after(switched, declared).acting == forms(declared)


def test_a_rule_for_a_team_that_is_new_leaves_the_team_under_the_general_one() -> None:
    special = {"applies": ["gpu"], "teams": ["vision"], "limit": "5m", "notice": "1m"}
    declared = rules(gpus=GPUS, vision=special)
    switched = after(agreed(rules(gpus=GPUS)), declared)
    assert limit_of(declared, switched, team="vision") == timedelta(minutes=30)
    form = switched.trials["vision"].form
    switched = Switched({**switched.acting, "vision": form}, {}, known=True)
    assert limit_of(declared, switched, team="vision") == timedelta(minutes=5)
    assert limit_of(declared, switched, team="speech") == timedelta(minutes=30)


def test_of_two_rules_for_one_server_the_one_that_acts_as_it_is_declared_goes_first() -> None:
    # `gpus` gives whole GPUs up; whoever took them over is agreed already.
    declared = rules(
        gpus={**GPUS, "applies": ["mig"]},
        cards={"applies": ["gpu"], "limit": "2h", "notice": "1m", "trial": "0s"},
    )
    switched = after(agreed(rules(gpus=GPUS)), declared)
    assert set(switched.acting) == {"gpus", "cards"}
    assert limit_of(declared, switched) == timedelta(hours=2)


def test_a_task_type_that_names_a_rule_is_part_of_it() -> None:
    data = policy_data("idle", to={"gpus": GPUS, "calm": {**GPUS, "applies": [], "limit": "7d"}})
    data["task_types"] = {"service": {"title": "Service", "weight": 1}}
    before = Policy.model_validate(data)
    data["task_types"]["service"]["idle"] = "calm"
    declared = Policy.model_validate(data)
    switched = after(agreed(before), declared)
    assert set(switched.trials) == {"calm"}
    found = rule_for(acting(declared, switched), "gpu", "service")
    assert found is not None
    assert found[0] == "gpus"
    found = rule_for(acting(declared, agreed(declared)), "gpu", "service")
    assert found is not None
    assert found[0] == "calm"


def test_where_idleness_is_only_observed_the_declared_rules_are_recorded() -> None:
    data = policy_data("idle", to={"gpus": GPUS})
    data["modes"]["idle"] = "observe"
    declared = Policy.model_validate(data)
    assert acting(declared, Switched()) is declared


def test_a_rule_is_read_from_the_record_as_it_was_written() -> None:
    rule = IdleRule.model_validate(
        {
            "applies": ["mig", "gpu"],
            "teams": ["vision"],
            "limit": "1h30m",
            "notice": "10m",
            "never_used": "0s",
            "window": "90s",
            "memory_active": "3KiB",
            "disk_active": "5B",
            "gpu_unused_stop": True,
            "cpu_baseline_millis": 0,
        }
    )
    declared = rules(own=GPUS).model_copy(update={"idle": {"own": rule}})
    form = replace(forms(declared)["own"], task_types=("service",))
    assert form_written(written(form), ("service",)) == form


def test_a_trial_is_over_when_it_was_watched_for_long_enough() -> None:
    trial = Trial(forms(rules(gpus=GPUS))["gpus"], NOON, watched=timedelta(days=6))
    assert left(trial, timedelta(days=7)) == timedelta(days=1)
    assert left(trial, timedelta(days=5)) == timedelta(0)


def test_a_change_says_what_it_is_about() -> None:
    [change] = changes(Switched(), rules(gpus=GPUS))
    assert change == Change("trial", "gpus", forms(rules(gpus=GPUS))["gpus"])


LIMITS = ("10m", "30m", "3h")
EDITS = st.lists(
    st.dictionaries(
        st.sampled_from(("gpus", "plain", "cards")),
        st.tuples(st.sampled_from(LIMITS), st.sampled_from(("0s", "7d"))),
    ),
    max_size=8,
)


@given(EDITS)
def test_nothing_acts_that_was_not_agreed_however_a_policy_is_edited(
    edits: list[dict[str, tuple[str, str]]],
) -> None:
    switched, agreed_on = Switched(), set[tuple[str, timedelta]]()
    for edit in edits:
        declared = rules(
            **{
                name: {**GPUS, "limit": limit, "trial": trial}
                for name, (limit, trial) in edit.items()
            }
        )
        agreed_on |= {
            (name, rule.limit) for name, rule in declared.idle.items() if rule.trial == OFF
        }
        for one in changes(switched, declared):
            if one.why == "renamed" and one.step == "acts":
                agreed_on.add((one.rule, one.form.rule.limit))
        switched = after(switched, declared)
        assert changes(switched, declared) == (), "taken into account once"
        assert {(name, form.rule.limit) for name, form in switched.acting.items()} <= agreed_on
        assert set(switched.acting) <= set(declared.idle)
        assert set(switched.trials) <= set(declared.idle)
        for name, rule in declared.idle.items():
            acts = switched.acting.get(name)
            assert name in switched.trials or (acts is not None and acts.rule.limit == rule.limit)
