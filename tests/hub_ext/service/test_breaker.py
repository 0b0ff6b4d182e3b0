"""The blast radius of idle stops, and the breaker: its arithmetic, pass after pass."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import LeaseId
from hub_ext.policy.model import IdleStops
from hub_ext.service.books import breaker as rules
from hub_ext.service.books.breaker import CALM_PASSES, Breaker, Sight, release, stops_a_pass, words
from tests.support.small_core import NOON

OPEN = Breaker()
STOPS = IdleStops()
TOGETHER = STOPS.together_within
LATER = NOON + timedelta(hours=3)


def ids(numbers: Iterable[int]) -> frozenset[LeaseId]:
    return frozenset(LeaseId(f"l-{number}") for number in numbers)


def sight(live: int, idle: int = 0, *, agents: int = 10, silent: int = 0) -> Sight:
    """So many live servers, of which the first ones turned idle at noon; likewise the agents."""
    return Sight(
        live=ids(range(live)),
        idle=dict.fromkeys(ids(range(idle)), NOON),
        agents=frozenset(f"n{number}" for number in range(agents)),
        silent=frozenset(f"n{number}" for number in range(silent)),
    )


def weigh(breaker: Breaker, seen: Sight, now: datetime, stops: IdleStops = STOPS) -> Breaker:
    return rules.weigh(breaker, seen, now, stops)


@pytest.mark.parametrize(
    ("live", "most"),
    [(0, 1), (1, 1), (9, 1), (10, 1), (19, 1), (20, 2), (55, 5), (100, 10), (1000, 10)],
)
def test_a_pass_stops_a_tenth_at_most_ten_and_always_one(live: int, most: int) -> None:
    assert stops_a_pass(live, STOPS) == most


@pytest.mark.parametrize(
    ("live", "idle", "held"),
    [
        (4, 4, False),
        (5, 5, True),
        (10, 4, False),
        (16, 5, True),
        # 5 of 17 are 29.4 percent; 6 of 20 are 30 and not over it.
        (17, 5, False),
        (20, 6, False),
        (20, 7, True),
        (100, 30, False),
        (100, 31, True),
    ],
)
def test_five_servers_and_over_thirty_percent_together_hold_all_idle_stops(
    live: int, idle: int, held: bool
) -> None:
    assert weigh(OPEN, sight(live, idle), NOON).held == held


def test_servers_that_turned_idle_one_after_the_other_hold_nothing() -> None:
    seen = sight(10, 8)
    assert not weigh(OPEN, seen, NOON + TOGETHER).held
    assert weigh(OPEN, seen, NOON + TOGETHER - timedelta(seconds=1)).held


@pytest.mark.parametrize(
    ("agents", "silent", "held"),
    [
        (0, 0, False),
        (1, 1, False),
        (2, 1, False),
        (2, 2, True),
        (5, 1, False),
        (5, 2, True),
        (10, 1, False),
        (10, 2, True),
        (11, 2, False),
        (11, 3, True),
    ],
)
def test_a_fifth_of_silent_agents_holds_them_too_but_never_one_alone(
    agents: int, silent: int, held: bool
) -> None:
    assert weigh(OPEN, sight(3, agents=agents, silent=silent), NOON).held == held


def test_a_policy_sets_other_bounds() -> None:
    careful = IdleStops.model_validate(
        {
            "most_a_pass": 3,
            "percent_a_pass": 50,
            "together_least": 2,
            "together_percent": 50,
            "together_within": "1h",
            "silent_least": 1,
            "silent_percent": 50,
        }
    )
    assert [stops_a_pass(live, careful) for live in (1, 4, 100)] == [1, 2, 3]
    late = NOON + timedelta(minutes=59)
    assert weigh(OPEN, sight(3, 2), late, careful).together == ids(range(2))
    assert not weigh(OPEN, sight(4, 2), late, careful).held
    assert weigh(OPEN, sight(9, agents=2, silent=1), NOON, careful).held
    assert not weigh(OPEN, sight(9, agents=3, silent=1), NOON, careful).held


def test_it_holds_while_those_servers_stay_idle_however_long_that_is() -> None:
    held = weigh(OPEN, sight(10, 6), NOON)
    assert weigh(held, sight(10, 6), LATER) == held
    assert words(held) == ("6 of 10 servers with a GPU turned idle together",)


def test_it_ends_when_the_ground_was_gone_for_some_passes_in_a_row() -> None:
    held = weigh(OPEN, sight(10, 6), NOON)
    for _ in range(CALM_PASSES - 1):
        held = weigh(held, sight(10, 1), LATER)
        assert held.held
    assert not weigh(held, sight(10, 1), LATER).held
    # One pass with a ground in between begins the count anew.
    again = weigh(held, sight(10, silent=3), LATER)
    assert again.calm == 0
    assert weigh(again, sight(10), LATER).held


def test_an_admins_word_ends_it_and_the_same_ground_is_none_again() -> None:
    freed = release(weigh(OPEN, sight(10, 6, silent=2), NOON))
    assert not freed.held
    assert not weigh(freed, sight(10, 6, silent=2), NOON).held
    # More of the same is a new ground; and whoever was well in between counts anew.
    assert weigh(freed, sight(10, 6, silent=5), NOON).silent == {"n2", "n3", "n4"}
    well = weigh(freed, sight(10), NOON)
    assert weigh(well, sight(10, 6), NOON).held


def test_the_words_name_machines_and_count_servers() -> None:
    held = weigh(OPEN, sight(10, 6, agents=4, silent=2), NOON)
    assert words(held) == (
        "6 of 10 servers with a GPU turned idle together",
        "2 of 4 agents are silent: n0, n1",
    )
    assert words(OPEN) == ()


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5)), max_size=20),
)
def test_nothing_is_held_without_a_ground_within_the_last_passes(
    passes: list[tuple[int, int, int]],
) -> None:
    breaker, calm = OPEN, CALM_PASSES
    for live, idle, silent in passes:
        breaker = weigh(breaker, sight(live, min(idle, live), agents=5, silent=silent), NOON)
        ground = silent >= 2 or (min(idle, live) >= 5 and 100 * min(idle, live) > 30 * live)
        calm = 0 if ground else calm + 1
        assert breaker.held == (calm < CALM_PASSES)
        assert breaker.held == bool(words(breaker))
