"""The arithmetic of one cohort, on worked examples and against its own laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.quota import (
    ROOT,
    Node,
    Quotas,
    available,
    charge,
    level,
    local,
    pool_quotas,
    potential,
    subtree,
)

EIGHT = {
    "vision": Node(4, borrowing_limit=2),
    "nlp": Node(2),
    "audio": Node(0),
}
"""A pool of 8: vision holds 4 and may borrow 2, nlp holds 2, audio nothing, 2 are shared."""


def test_what_is_guaranteed_to_nobody_is_shared_by_all() -> None:
    quotas = pool_quotas(EIGHT, (), 8)
    assert quotas.nodes[ROOT].nominal == 2
    assert subtree(quotas, ROOT) == 8


@pytest.mark.parametrize(
    ("holdings", "team", "expected"),
    [
        ([], "vision", 6),
        ([], "nlp", 8),
        ([], "audio", 8),
        ([("vision", 4)], "audio", 4),
        ([("vision", 4), ("audio", 4)], "nlp", 0),
        ([("vision", 4), ("audio", 4)], "vision", 0),
        ([("nlp", 3)], "vision", 5),
        ([("vision", 6)], "vision", 0),
    ],
)
def test_available_in_a_pool_of_eight(
    holdings: list[tuple[str, int]], team: str, expected: int
) -> None:
    assert available(pool_quotas(EIGHT, holdings, 8), team) == expected


def test_a_lending_limit_keeps_the_rest_at_home() -> None:
    quotas = pool_quotas({"a": Node(4, lending_limit=1), "b": Node(0)}, (), 4)
    assert local(quotas, "a") == 3
    assert available(quotas, "b") == 1
    assert available(quotas, "a") == 4
    taken = charge(quotas, "b", 1)
    assert available(taken, "a") == 3


def test_use_inside_the_local_part_is_not_charged_to_the_pool() -> None:
    quotas = pool_quotas({"a": Node(4, lending_limit=1), "b": Node(0)}, [("a", 3)], 4)
    assert quotas.used(ROOT) == 0
    assert charge(quotas, "a", 1).used(ROOT) == 1


def test_level_is_zero_inside_nominal_and_one_when_borrowing() -> None:
    quotas = pool_quotas(EIGHT, [("vision", 3)], 8)
    assert level(quotas, "vision", 1) == 0
    assert level(quotas, "vision", 2) == 1
    assert level(quotas, "audio", 1) == 1


def test_level_climbs_past_a_cohort_that_does_not_cover_it() -> None:
    nodes = {
        ROOT: Node(4),
        "left": Node(0, ROOT),
        "a": Node(1, "left"),
        "b": Node(1, "left"),
    }
    quotas = Quotas(nodes)
    assert [level(quotas, "a", units) for units in (1, 2, 3)] == [0, 1, 2]
    assert potential(quotas, "a") == 6


def test_a_team_that_lost_its_quota_still_counts() -> None:
    quotas = pool_quotas({"a": Node(2)}, [("gone", 1)], 2)
    assert available(quotas, "a") == 1


def test_missing_capacity_is_not_lent_but_guarded_parts_stay() -> None:
    teams = {"a": Node(2), "b": Node(2, lending_limit=1)}
    assert available(pool_quotas(teams, (), 3), "a") == 2
    assert available(pool_quotas(teams, [("a", 2)], 3), "b") == 1
    guarded = {"a": Node(1, lending_limit=0), "b": Node(1, lending_limit=0)}
    assert available(pool_quotas(guarded, (), 1), "a") == 1


node = st.builds(
    Node,
    st.integers(0, 6),
    st.none(),
    st.none() | st.integers(0, 6),
    st.none() | st.integers(0, 6),
)
trees = st.dictionaries(st.sampled_from("abcd"), node, min_size=1)


@given(trees, st.integers(0, 8), st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 4))))
def test_taking_only_what_is_available_never_breaks_a_limit(
    teams: dict[str, Node], shared: int, wishes: list[tuple[str, int]]
) -> None:
    capacity = shared + sum(one.nominal for one in teams.values())
    quotas = pool_quotas(teams, (), capacity)
    for name, units in wishes:
        if name in teams and units <= available(quotas, name):
            quotas = charge(quotas, name, units)
    assert sum(quotas.used(name) for name in teams) <= capacity
    for name, one in teams.items():
        assert quotas.used(name) <= potential(quotas, name)
        if one.borrowing_limit is not None:
            assert quotas.used(name) <= one.nominal + one.borrowing_limit
    borrowed = sum(max(0, quotas.used(name) - one.nominal) for name, one in teams.items())
    lendable = shared + sum(
        one.nominal if one.lending_limit is None else min(one.nominal, one.lending_limit)
        for one in teams.values()
    )
    assert borrowed <= lendable
    for name, one in teams.items():
        used = quotas.used(name)
        others = sum(max(0, quotas.used(o) - n.nominal) for o, n in teams.items() if o != name)
        if one.lending_limit is not None and used == 0 and others:
            guarded = max(0, one.nominal - one.lending_limit)
            assert available(quotas, name) >= guarded


@given(trees, st.integers(0, 8), st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 4))))
def test_the_order_of_holdings_does_not_matter(
    teams: dict[str, Node], shared: int, holdings: list[tuple[str, int]]
) -> None:
    capacity = shared + sum(one.nominal for one in teams.values())
    forth = pool_quotas(teams, holdings, capacity)
    back = pool_quotas(teams, holdings[::-1], capacity)
    assert {name: available(forth, name) for name in forth.nodes} == {
        name: available(back, name) for name in back.nodes
    }
    together: dict[str, int] = {}
    for name, units in holdings:
        together[name] = together.get(name, 0) + units
    joined = pool_quotas(teams, together.items(), capacity)
    assert joined.used(ROOT) == forth.used(ROOT)
