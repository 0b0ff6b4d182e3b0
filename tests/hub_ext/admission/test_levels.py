"""Pool, team and project: whose share it is, who may use what is left, and who is told why."""

from typing import Any

from hub_ext.admission.decide import Admitted, Decision, Queued, reconsider
from hub_ext.admission.engine import targets
from hub_ext.admission.levels import guarantee, pool_nodes, queue_of
from hub_ext.admission.order import promotions
from hub_ext.admission.queue import line
from hub_ext.admission.tree import state_of
from hub_ext.lease import LeaseId, PoolName, Standing
from tests.support.pools import Commons, make_policy, request, team

WHOLE = PoolName("whole")


def shared(*, over: str = "borrow", x: dict[str, str] | None = None, **more: Any) -> Commons:
    """Team a is guaranteed 3 of 4 GPUs: 1 for project x, 1 for project y, 1 is shared out to none.

    Team b is guaranteed the fourth.
    """
    quota = {"whole": {"nominal": "3", **more}}
    projects: dict[str, Any] = {
        "x": {"team": "a", "quota": {"whole": {"nominal": "1", **(x or {})}}},
        "y": {"team": "a", "quota": {"whole": {"nominal": "1"}}},
        "free": {"team": "a"},
    }
    teams = {
        "a": team(quota, name="a", over=over),
        "b": team({"whole": {"nominal": "1"}}, name="b"),
    }
    return Commons(make_policy(teams, projects=projects))


def told(answer: Decision) -> str:
    return answer.reason.code


def test_a_team_that_shares_out_is_a_cohort_of_its_projects() -> None:
    nodes = pool_nodes(shared().policy, "whole")
    assert sorted(nodes) == ["^a", "a", "a/x", "a/y", "b"]
    assert [nodes[name].nominal for name in sorted(nodes)] == [840, 0, 840, 840, 840]
    assert {nodes[name].parent for name in ("a", "a/x", "a/y")} == {"^a"}


def test_a_request_belongs_to_its_projects_share_else_to_what_the_team_kept() -> None:
    policy = shared().policy
    assert queue_of(policy, "a", "x", "whole") == "a/x"
    assert queue_of(policy, "a", "free", "whole") == "a"
    assert queue_of(policy, "a", "x", "cut") == "a"
    assert queue_of(policy, "b", "x", "whole") == "b"
    assert queue_of(policy, "a", None, "whole") == "a"


def test_own_share_and_what_nobody_has_are_guaranteed_anothers_share_is_borrowed() -> None:
    commons = shared()
    answers = [commons.asks(f"x-{n}", "a", "one", project="x") for n in range(3)]
    assert [told(one) for one in answers] == ["guaranteed", "guaranteed", "borrowed"]
    assert "what is the project's own" in answers[2].reason.message


def test_an_owner_of_a_share_calls_in_its_own_mate_and_no_other_team() -> None:
    commons = shared()
    for n in range(3):
        commons.asks(f"x-{n}", "a", "one", project="x")
    commons.asks("b-1", "b", "one")
    waits = commons.waits("y-1", "a", "one", project="y")
    borrowed = {one.id: 5 for one in commons.leases if one.standing is Standing.borrowed}
    assert len(borrowed) == 1
    assert targets(state_of(commons.snapshot, WHOLE), waits.id) is None
    found = targets(state_of(commons.snapshot, WHOLE, numbers=borrowed), waits.id)
    assert found is not None
    assert {LeaseId(one.id) for one in found} == set(borrowed)


def test_while_a_project_waits_for_its_share_it_is_lent_to_no_mate() -> None:
    commons = shared()
    commons.devices = commons.devices[:2]
    commons.asks("x-1", "a", "one", project="x")
    commons.asks("b-1", "b", "one")
    commons.waits("y-1", "a", "one", project="y")
    answer = commons.asks("x-2", "a", "one", project="x")
    assert told(answer) == "owner-waits"
    assert "another of the team's projects" in answer.reason.message


def test_a_project_takes_no_more_than_its_limit() -> None:
    commons = shared(x={"borrowing_limit": "0"})
    commons.asks("x-1", "a", "one", project="x")
    answer = commons.asks("x-2", "a", "one", project="x")
    assert isinstance(answer, Queued)
    assert told(answer) == "project-limit"
    assert "Project x has a share of 1 GPU" in answer.reason.message
    assert answer.reason.figures["project_limit_gpus"] == "0"
    never = commons.asks("x-3", "a", "two", project="x")
    assert told(never) == "beyond-limits"
    assert "project x can never hold more than 1 GPU" in never.reason.message
    assert told(commons.asks("free-1", "a", "one", project="free")) == "guaranteed"


def test_what_a_project_does_not_lend_its_mates_cannot_use() -> None:
    commons = shared(x={"lending_limit": "0"}, over="queue")
    answers = [commons.asks(f"y-{n}", "a", "one", project="y") for n in range(3)]
    assert [told(one) for one in answers] == ["guaranteed", "guaranteed", "guarantee-used"]
    assert told(commons.asks("x-1", "a", "one", project="x")) == "guaranteed"


def test_beyond_the_team_a_project_borrows_by_the_teams_limits() -> None:
    commons = shared(borrowing_limit="0")
    for n in range(3):
        commons.asks(f"x-{n}", "a", "one", project="x")
    assert told(commons.asks("x-3", "a", "one", project="x")) == "borrowing-limit"
    free = shared()
    codes = [told(free.asks(f"x-{n}", "a", "one", project="x")) for n in range(4)]
    assert codes == ["guaranteed", "guaranteed", "borrowed", "borrowed"]


def test_when_a_mate_ends_a_lease_moves_up_into_what_is_its_own() -> None:
    commons = shared()
    for n in range(3):
        commons.asks(f"x-{n}", "a", "one", project="x")
    third = commons.leases[-1]
    assert promotions(commons.policy, commons.leases) == ()
    commons.ends("x-0")
    assert promotions(commons.policy, commons.leases) == (third.id,)


def test_the_account_of_a_guarantee_knows_shares() -> None:
    policy = shared().policy
    account = guarantee(policy, "a", "whole")
    assert account is not None
    assert account.covers("a/x", 1680)
    account.take("a/x", 1680)
    assert account.covers("a/y", 840)
    assert not account.covers("a/y", 1680)
    assert not account.covers("a", 840)
    assert guarantee(policy, "b", "cut") is None
    assert guarantee(policy, "gone", "whole") is None


def test_a_borrowed_large_lease_leaves_a_mates_small_one_its_guarantee() -> None:
    """What starts as borrowed is not guaranteed a moment later with nothing changed."""
    teams = {
        "a": team({"whole": {"nominal": "1"}}, name="a"),
        "b": team({"whole": {"nominal": "3"}}, name="b"),
    }
    commons = Commons(make_policy(teams))
    large, small = commons.asks("large", "a", "two"), commons.asks("small", "a", "one")
    assert (told(large), told(small)) == ("borrowed", "guaranteed")
    assert "what is borrowed leaves room for it" in small.reason.message
    assert promotions(commons.policy, commons.leases) == ()


def test_such_a_small_one_is_no_owner_and_waits_while_one_does() -> None:
    teams = {
        "a": team({"whole": {"nominal": "1"}}, name="a"),
        "b": team({"whole": {"nominal": "3"}}, name="b"),
    }
    commons = Commons(make_policy(teams))
    commons.asks("large", "a", "two")
    commons.asks("b-1", "b", "one")
    commons.waits("owner", "b", "two")
    assert told(commons.asks("small", "a", "one")) == "owner-waits"
    assert [told(one.decision) for one in line(commons.snapshot)] == ["guarantee-lent"]


def test_a_request_behind_a_cap_is_no_owner_and_holds_up_nobody() -> None:
    teams = {
        "a": team({"whole": {"nominal": "2"}}, name="a", most_leases_per_person=1),
        "b": team({"whole": {"nominal": "1"}}, name="b"),
    }
    commons = Commons(make_policy(teams))
    commons.asks("a-1", "a", "one")
    commons.waits("a-1", "a", "one", server="second")
    commons.asks("b-1", "b", "one")
    assert told(commons.asks("b-2", "b", "one")) == "borrowed"


def test_what_is_held_for_a_request_is_decided_by_the_same_rules() -> None:
    commons = shared()
    waits = commons.waits("x-1", "a", "one", project="x")
    asked = request(commons.policy, "x-1", "a", "one", at=waits.requested_at, project="x")
    answer = reconsider(
        commons.snapshot,
        asked.model_copy(update={"lease_id": waits.id}),
        commons.devices[:1],
    )
    assert isinstance(answer, Admitted)
    assert answer.standing is Standing.guaranteed
