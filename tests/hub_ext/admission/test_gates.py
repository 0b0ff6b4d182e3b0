"""Caps of people, teams, projects and task types, and the wish to wait rather than to borrow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.decide import Admitted, Decision, Denied, Queued
from hub_ext.admission.queue import line
from hub_ext.lease import LeaseState, Standing
from hub_ext.policy.model import Policy
from tests.support.pools import Commons, make_policy, request, team

PROJECTS = {"maps": {"team": "a", "most_leases": 1}, "birds": {"team": "a"}}
TYPES = {
    "training": {"title": "Training", "weight": 500},
    "service": {"title": "Service", "weight": 100, "most_leases": 1},
}


def rules(mode: str = "enforce", **limits: Any) -> Policy:
    """Two teams with two GPUs each, in which little is allowed at once."""
    return make_policy(
        {
            "a": team({"whole": {"nominal": "2"}}, name="a", **limits),
            "b": team({"whole": {"nominal": "2"}}, name="b"),
        },
        mode=mode,
        projects=PROJECTS,
        task_types=TYPES,
    )


def two_teams(mode: str = "enforce") -> Policy:
    """Two teams with two GPUs each, and no cap at all."""
    quota = {"whole": {"nominal": "2"}}
    return make_policy({"a": team(quota, name="a"), "b": team(quota, name="b")}, mode=mode)


def code(decision: Decision) -> str:
    """What stands in a decision that is no yes."""
    assert isinstance(decision, Queued | Denied)
    return decision.reason.code


def test_a_project_has_its_own_limit_and_the_other_project_none() -> None:
    commons = Commons(rules())
    assert isinstance(commons.asks("ann", "a", "one", project="maps"), Admitted)
    second = commons.asks("alf", "a", "one", project="maps")
    assert isinstance(second, Queued)
    assert second.reason.code == "most-leases-of-project"
    assert second.reason.figures["limit"] == 1
    assert second.why.startswith("Project maps has 1 servers with GPUs, and may have at most 1.")
    assert isinstance(commons.asks("alf", "a", "one", project="birds"), Admitted)


def test_a_task_type_has_one_limit_for_all_teams() -> None:
    commons = Commons(rules())
    assert isinstance(commons.asks("ann", "a", "one", task_type="service"), Admitted)
    other_team = commons.asks("bea", "b", "one", task_type="service")
    assert code(other_team) == "most-leases-of-type"
    assert isinstance(commons.asks("bea", "b", "one", task_type="training"), Admitted)
    assert isinstance(commons.asks("bob", "b", "one"), Admitted)


def test_people_and_team_come_before_project_and_type() -> None:
    capped = Commons(rules(most_leases_per_person=1, most_leases=2, largest_request="1"))
    assert code(capped.asks("ann", "a", "two")) == "largest-request"
    assert isinstance(capped.asks("ann", "a", "one", project="maps"), Admitted)
    assert code(capped.asks("alf", "a", "one", project="maps")) == "most-leases-of-project"
    assert isinstance(capped.asks("alf", "a", "one", project="birds"), Admitted)
    assert code(capped.asks("eve", "a", "one", project="maps")) == "most-leases"


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_a_cap_that_does_not_act_yet_says_what_it_would_have(mode: str) -> None:
    commons = Commons(rules(mode))
    commons.asks("ann", "a", "one", task_type="service")
    second = commons.asks("bea", "b", "one", task_type="service")
    assert isinstance(second, Admitted)
    assert second.would_have is Standing.would_queue
    assert second.reason.figures["would_have_code"] == "most-leases-of-type"


def test_of_two_that_wait_for_one_place_the_second_is_told_of_the_first() -> None:
    commons = Commons(rules())
    commons.waits("ann", "a", "one", project="maps")
    commons.waits("alf", "a", "one", project="maps")
    commons.waits("abe", "a", "one", project="birds")
    first, second, other = line(commons.snapshot)
    assert isinstance(first.decision, Admitted)
    assert code(second.decision) == "most-leases-of-project"
    assert isinstance(other.decision, Admitted)


@pytest.mark.parametrize("mode", ["enforce", "advise", "observe"])
def test_who_waits_for_the_guarantee_never_borrows_in_any_mode(mode: str) -> None:
    commons = Commons(two_teams(mode))
    commons.asks("ann", "a", "two")
    borrowed = commons.asks("alf", "a", "one")
    assert isinstance(borrowed, Admitted)
    assert borrowed.standing is Standing.borrowed
    commons.leases.pop()
    patient = commons.asks("alf", "a", "one", only_guaranteed=True)
    assert isinstance(patient, Queued)
    assert patient.reason.code == "only-guaranteed"
    assert "You chose to wait for the guarantee rather than to borrow" in patient.why


def test_it_starts_as_guaranteed_when_a_colleague_ends() -> None:
    commons = Commons(two_teams())
    commons.asks("ann", "a", "two")
    waiting = commons.waits("alf", "a", "one", only_guaranteed=True)
    assert code(line(commons.snapshot)[0].decision) == "only-guaranteed"
    commons.leases = [waiting]
    (now,) = line(commons.snapshot)
    assert isinstance(now.decision, Admitted)
    assert now.decision.standing is Standing.guaranteed


def test_a_wish_for_more_than_the_guarantee_is_never_and_says_so() -> None:
    small = make_policy({"a": team({"whole": {"nominal": "1"}}, name="a")})
    never = Commons(small).asks("ann", "a", "two", only_guaranteed=True)
    assert isinstance(never, Denied)
    assert never.reason.code == "never-guaranteed"
    assert "Let it borrow, or choose a smaller profile." in never.reason.message


def test_somebody_patient_does_not_stand_in_the_way_of_who_borrows() -> None:
    commons = Commons(two_teams())
    commons.asks("ann", "a", "two")
    commons.waits("alf", "a", "one", only_guaranteed=True)
    asked = commons.asks("abe", "a", "one")
    assert isinstance(asked, Admitted)
    assert asked.standing is Standing.borrowed
    assert request(commons.policy, "abe", "a", "one").resolved.choice.only_guaranteed is False
    assert commons.leases[-1].state is LeaseState.running


wishes = st.lists(
    st.tuples(
        st.sampled_from(["ann", "alf", "abe", "amy", "art", "axl"]),
        st.sampled_from([None, "training", "service"]),
        st.sampled_from(["maps", "birds"]),
        st.booleans(),
        st.sampled_from(["asks", "asks", "waits", "ends"]),
    ),
    max_size=12,
)


@given(wishes)
def test_no_sequence_exceeds_a_cap_or_lends_to_who_would_not_borrow(
    steps: list[tuple[str, str | None, str, bool, str]],
) -> None:
    commons = Commons(rules(most_leases=3))
    for user, task, project, patient, act in steps:
        wished = {"task_type": task, "project": project, "only_guaranteed": patient}
        if act == "ends" or any(one.key.user == user for one in commons.leases):
            commons.leases = commons.leases[1:]
        elif act == "waits":
            commons.waits(user, "a", "one", **wished)
        else:
            commons.asks(user, "a", "one", **wished)
        held = [one for one in commons.leases if one.holding]
        assert len(held) <= 3
        assert sum(one.project == "maps" for one in held) <= 1
        assert sum(one.task_type == "service" for one in held) <= 1
        assert not any(one.only_guaranteed and one.standing is Standing.borrowed for one in held)
