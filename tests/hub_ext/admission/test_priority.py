"""The number of a request: its task type, what waiting adds, and what recent use takes off."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.priority import (
    HIGHEST,
    Ranking,
    Weight,
    gap,
    numbers,
    ranking,
    started,
    weigh,
    words,
)
from hub_ext.lease import LeaseState, Standing, TaskTypeName
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, make_lease, make_policy, request, team

TYPES = {
    "training": {"title": "Training", "weight": 500},
    "notebook": {"title": "Notebook", "weight": 300},
}


def policy(types: object = TYPES, **rules: object) -> Policy:
    return make_policy(
        {"a": team({"whole": {"nominal": "2"}}, name="a")}, task_types=types, priority=rules
    )


def test_each_part_is_shown() -> None:
    rules = ranking(policy())
    weight = weigh(rules, task=500, waited=timedelta(hours=3), recent_s=15 * 3600)
    assert weight.total == 500 + 12 - 30
    assert weight.number == 1482
    assert words(weight, "training") == "training 500, waiting +12, recent use \N{MINUS SIGN}30"


def test_what_is_nothing_is_not_shown() -> None:
    assert words(Weight(0), "") == "no task type 0"


def test_ageing_and_recent_use_end_at_their_most() -> None:
    weight = weigh(ranking(policy()), task=500, waited=timedelta(days=9), recent_s=10**9)
    assert (weight.waited, weight.recent) == (40, 40)


def test_a_clock_that_was_set_back_adds_nothing() -> None:
    assert weigh(ranking(policy()), task=0, waited=timedelta(hours=-5), recent_s=-7).total == 0


def test_who_has_called_in_is_first_until_the_start() -> None:
    rules = ranking(policy({"all": {"title": "All", "weight": 999}}))
    caller = weigh(rules, task=0, waited=timedelta(0), recent_s=0, calling=True)
    other = weigh(rules, task=999, waited=timedelta(days=9), recent_s=0)
    assert caller.number == 1999 > other.number
    assert words(caller, "").endswith("first, because devices are called in for it")


def test_between_two_task_types_rules_that_are_too_wide_are_shortened_alike() -> None:
    narrow = policy({"high": {"title": "High", "weight": 21}}, most_ageing=40, most_recent=40)
    assert gap(narrow) == 21
    assert ranking(narrow) == Ranking(4, 10, 2, 10)


def test_a_request_that_waits_is_numbered_and_what_runs_keeps_its_own() -> None:
    rules = policy()
    asked = request(rules, "ann", "a", "one", at=NOON)
    waits = make_lease(asked, standing=Standing.would_queue, state=LeaseState.queued)
    waits = waits.model_copy(update={"task_type": TaskTypeName("notebook")})
    runs = make_lease(request(rules, "ben", "a", "one"), standing=Standing.guaranteed)
    found = numbers(rules, (waits, runs), {"ann": 3600}, NOON + timedelta(hours=1))
    assert found == {waits.id: 1000 + 300 + 4 - 2}
    assert started(302) == 2302


weights = st.lists(st.integers(0, 999), max_size=4)
points = st.integers(0, 999)
rule_sets = st.fixed_dictionaries(
    dict.fromkeys(("ageing_per_hour", "most_ageing", "recent_per_gpu_hour", "most_recent"), points)
)
spans = st.timedeltas(min_value=timedelta(days=-3), max_value=timedelta(days=30))


@given(weights, rule_sets, spans, spans, st.integers(0, 10**7))
def test_no_waiting_and_no_use_brings_a_request_past_a_task_type(
    types: list[int], rules: dict[str, int], long: timedelta, short: timedelta, used: int
) -> None:
    named = {f"t{n}": {"title": "T", "weight": weight} for n, weight in enumerate(types)}
    found = ranking(policy(named, **rules))
    for low in (0, *types):
        for high in types:
            patient = weigh(found, task=low, waited=long, recent_s=0)
            greedy = weigh(found, task=high, waited=short, recent_s=used)
            for one in (patient, greedy):
                assert 0 <= one.total < HIGHEST
            if low < high:
                assert patient.task + patient.waited < greedy.task - greedy.recent + greedy.waited


@given(spans, spans, points)
def test_waiting_longer_never_lowers_a_request(one: timedelta, other: timedelta, task: int) -> None:
    rules = ranking(policy())
    first, second = sorted((one, other))
    at_first = weigh(rules, task=task, waited=first, recent_s=3600)
    later = weigh(rules, task=task, waited=second, recent_s=3600)
    assert at_first.total <= later.total


@given(points, st.integers(0, 10**7), points)
def test_recent_use_never_brings_a_request_below_a_lease_that_is_called_in(
    task: int, used: int, called_in: int
) -> None:
    """K11: without the limit 1000 + 0 - 30 would fall below a running lease at 999."""
    rules = ranking(policy({"t": {"title": "T", "weight": task}}))
    waiting = weigh(rules, task=task, waited=timedelta(0), recent_s=used)
    assert called_in < 1000 <= waiting.number <= 1999 < started(waiting.total) <= 2999


def test_no_weight_and_much_recent_use_is_number_1000() -> None:
    weight = weigh(ranking(policy()), task=0, waited=timedelta(0), recent_s=15 * 3600)
    assert (weight.recent, weight.number) == (30, 1000)
