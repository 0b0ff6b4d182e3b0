"""Whom the governor calls in is whom Kueue would take, once those have the numbers for it."""

from datetime import timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from hub_ext.admission.calling import plan
from hub_ext.admission.engine import targets
from hub_ext.admission.order import promotions
from hub_ext.admission.owners import owners
from hub_ext.admission.snapshot import NOBODY, Snapshot, scene
from hub_ext.admission.tree import state_of
from hub_ext.lease import LeaseId, Standing
from hub_ext.policy.model import Policy
from tests.hub_ext.admission.test_rehearse import POOL, loaded, policies

held = st.tuples(
    st.sampled_from("aabc"), st.sampled_from(["one", "one", "two"]), st.just(0), st.just("holds")
)


def is_owner(snapshot: Snapshot, request: LeaseId) -> bool:
    view = scene(snapshot, POOL, without=NOBODY, lease_id=None)
    return any(one.demand.tie == request for one in owners(view))


@given(policies(), st.lists(held, min_size=3, max_size=10), st.sampled_from("bc"))
def test_one_owner_calls_in_exactly_kueues_victims(
    policy: Policy, load: list[tuple[str, str, int, str]], who: str
) -> None:
    """On one machine, where units are places; all that is borrowed is past its minimum run time."""
    commons = loaded(policy, load)
    up = promotions(policy, commons.leases)
    commons.leases = [
        one.model_copy(
            update={
                "assigned_at": one.requested_at,
                "standing": Standing.guaranteed if one.id in up else one.standing,
            }
        )
        for one in commons.leases
    ]
    request = commons.waits("owner", who, "one")
    commons.now += timedelta(hours=1)
    snapshot = commons.snapshot
    assume(is_owner(snapshot, request.id))
    eligible = {
        one.id: one.weight
        for one in commons.leases
        if one.standing is Standing.borrowed and one.team != who
    }
    taken = targets(state_of(snapshot, POOL, numbers=eligible), request.id)
    called = {call.victim for call in plan(snapshot).calls}
    assert called == {LeaseId(one.id) for one in taken or ()}
