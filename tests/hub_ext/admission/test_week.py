"""Days of random load: owners start within the printed bound, nobody starves, forecasts hold."""

from functools import cache

import pytest

from hub_ext.policy.bounds import large_bound, owner_bound
from tests.support.week import POOL, Week, a_week, judged

SEEDS = (3, 4)


@cache
def lived(seed: int) -> Week:
    week = a_week(seed, days=5)
    week.run()
    return week


@cache
def whole_week(seed: int) -> Week:
    """Seven days in which nobody asks for a forecast, which takes most of the time."""
    week = a_week(seed, days=7)
    week.foretell_from = None
    week.run()
    return week


@pytest.mark.parametrize("seed", SEEDS)
def test_who_is_owed_a_start_waits_no_longer_than_the_bound(seed: int) -> None:
    week = whole_week(seed)
    bound = owner_bound(week.policy, POOL)
    assert bound is not None
    owners = [one for one in week.waited if one.owed_since is not None]
    assert len(owners) >= 10
    assert week.calls >= 5
    assert {one.arrival.profile for one in owners} >= {"one", "two", "four"}
    assert max(one.owed for one in owners) <= bound
    assert not [one for one in week.leases if one.open]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_large_request_behind_many_small_ones_starts_within_its_bound(seed: int) -> None:
    week = whole_week(seed)
    bound = large_bound(week.policy, POOL)
    assert bound is not None
    large = [one for one in week.waited if one.arrival.profile == "four"]
    assert large
    assert max(one.started - week.first_since(one) for one in large) <= bound


@pytest.mark.parametrize("seed", SEEDS)
def test_8_of_10_starts_lie_in_the_range_that_was_told(seed: int) -> None:
    told = judged(lived(seed).waited)
    assert told.starts >= 50
    assert told.covered * 10 >= told.starts * 8
    assert told.score_h < told.quantiles_h
