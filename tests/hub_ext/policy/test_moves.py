"""Quota moved between projects: it conserves the sum, and is void where it cannot be."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import PoolName, ProjectName, QuotaMove, TeamName
from hub_ext.policy.model import Policy
from hub_ext.policy.moves import applied, obstacle, rows, share_rows, shares_of, shares_on
from hub_ext.units import UNITS_PER_GPU
from tests.support.pools import make_policy, team

DAY = date(2026, 12, 1)
PROJECTS = ("maps", "birds", "tides")


def rules(**more: Any) -> Policy:
    """One team with four GPUs: two for maps, one for birds, one not shared out."""
    projects = {
        "maps": {"team": "sea", "quota": {"whole": {"nominal": "2", "lending_limit": "1"}}},
        "birds": {"team": "sea", "quota": {"whole": {"nominal": "1"}}},
        "tides": {"team": "sea"},
        "other": {"team": "land"},
    }
    teams = {
        "sea": team({"whole": {"nominal": "4"}}, name="sea"),
        "land": team({}, name="land"),
    }
    return make_policy(teams, projects={**projects, **more})


def move(giver: str | None, taker: str | None, gpus: int = 1, **more: Any) -> QuotaMove:
    """One move from today on."""
    fields: dict[str, Any] = {
        "id": "q-1",
        "team": TeamName("sea"),
        "pool": PoolName("whole"),
        "from_project": giver,
        "to_project": taker,
        "units": gpus * UNITS_PER_GPU,
        "first_day": DAY,
        "reason": "a deadline",
        "by": "lena",
        "at": datetime(2026, 12, 1, 9, tzinfo=UTC),
        **more,
    }
    return QuotaMove(**fields)


def gpus(policy: Policy) -> dict[str, int]:
    """Whole GPUs of each project."""
    return {
        name: project.quota["whole"].nominal // UNITS_PER_GPU
        for name, project in policy.projects.items()
        if "whole" in project.quota
    }


def test_a_move_takes_from_one_and_gives_to_another() -> None:
    moved = applied(rules(), [move("maps", "birds")], DAY)
    assert gpus(moved) == {"maps": 1, "birds": 2}
    assert moved.projects["maps"].quota["whole"].lending_limit == UNITS_PER_GPU


def test_a_project_without_a_share_gets_one_and_the_rest_may_give() -> None:
    assert gpus(applied(rules(), [move(None, "tides")], DAY)) == {
        "maps": 2,
        "birds": 1,
        "tides": 1,
    }
    assert gpus(applied(rules(), [move("maps", None)], DAY)) == {"maps": 1, "birds": 1}


def test_it_holds_from_its_first_day_to_the_day_before_its_end() -> None:
    later = move("maps", "birds", first_day=DAY + timedelta(days=1), until=DAY + timedelta(days=3))
    held = [gpus(applied(rules(), [later], DAY + timedelta(days=n)))["maps"] == 1 for n in range(5)]
    assert held == [False, True, True, False, False]
    states = [rows(rules(), "sea", [later], DAY + timedelta(days=n))[0].state for n in range(4)]
    assert states == ["to come", "in force", "in force", "over"]


def test_a_policy_that_gives_less_makes_a_move_void_and_says_why() -> None:
    less = rules(maps={"team": "sea"})
    (row,) = rows(less, "sea", [move("maps", "birds")], DAY)
    assert row.state == "void"
    assert (
        row.words == "the project 'maps' has 0 GPU of pool 'whole' then, and 1 GPU were to be moved"
    )
    assert gpus(applied(less, [move("maps", "birds")], DAY)) == {"birds": 1}


def test_a_project_that_left_the_team_makes_it_void_too() -> None:
    (row,) = rows(rules(birds={"team": "land"}), "sea", [move("maps", "birds")], DAY)
    assert (row.state, "no project 'birds' any more" in row.words) == ("void", True)
    assert "no team 'sky'" in obstacle(rules(), {}, move("maps", "birds", team=TeamName("sky")))
    assert "no quota in the pool" in obstacle(rules(), {}, move(None, "maps", pool=PoolName("cut")))


def test_of_two_that_want_the_same_the_later_is_void() -> None:
    first = move("birds", "tides", id="q-1")
    second = move("birds", "maps", id="q-2", at=first.at + timedelta(minutes=1))
    newest, oldest = rows(rules(), "sea", [second, first], DAY)
    assert (newest.move.id, newest.state, oldest.state) == ("q-2", "void", "in force")


def test_shares_are_listed_with_what_is_not_shared_out_last() -> None:
    listed = share_rows(rules(), "sea", [move(None, "tides")], DAY)
    assert [(one.project, one.policy_units // 840, one.units // 840) for one in listed] == [
        ("birds", 1, 1),
        ("maps", 2, 2),
        ("tides", 0, 1),
        (None, 1, 0),
    ]


moves = st.lists(
    st.builds(
        lambda n, giver, taker, units, days: move(
            giver,
            taker,
            id=f"q-{n}",
            units=units,
            first_day=DAY + timedelta(days=days),
            at=datetime(2026, 12, 1, tzinfo=UTC) + timedelta(minutes=n),
        ),
        st.integers(0, 99),
        st.sampled_from([None, *PROJECTS]).map(lambda one: one and ProjectName(one)),
        st.sampled_from([None, *PROJECTS]).map(lambda one: one and ProjectName(one)),
        st.integers(1, 3 * UNITS_PER_GPU),
        st.integers(-2, 2),
    ),
    max_size=8,
)


@given(moves)
def test_no_sequence_of_moves_makes_or_loses_quota(made: list[QuotaMove]) -> None:
    policy = rules()
    shares, _void = shares_on(policy, "sea", made, DAY)
    assert sum(shares.values()) == sum(shares_of(policy, "sea").values()) == 4 * UNITS_PER_GPU
    assert min(shares.values()) >= 0
    given_out = applied(policy, made, DAY).projects.values()
    total = sum(share.nominal for one in given_out for share in one.quota.values())
    assert total <= policy.teams["sea"].quota["whole"].nominal
    assert applied(policy, list(reversed(made)), DAY) == applied(policy, made, DAY) or len(
        {one.id for one in made}
    ) < len(made)
