"""Whose borrowed device goes back to whom: as few as needed, none that is protected, no loops."""

from collections.abc import Collection
from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.calling import Call, plan
from hub_ext.admission.decide import Admitted
from hub_ext.admission.engine import targets
from hub_ext.admission.protection import gives_up_hold, shield
from hub_ext.admission.queue import line
from hub_ext.admission.snapshot import Snapshot
from hub_ext.admission.tree import state_of
from hub_ext.lease import CalledIn, LeaseId, LeaseState, PoolName, Standing
from hub_ext.policy.model import Policy
from tests.support.pools import Commons, make_policy, team

HALF_HOUR = timedelta(minutes=30)


def two_teams(whole: int = 4, **more: Any) -> Policy:
    """Team a has nothing of its own and borrows; the pool is guaranteed to team b."""
    return make_policy(
        {
            "a": team({"whole": {"nominal": "0"}, "cut": {"nominal": "0"}}, name="a"),
            "b": team({"whole": {"nominal": str(whole)}, "cut": {"nominal": "0.875"}}, name="b"),
        },
        whole=whole,
        **more,
    )


def borrowed(commons: Commons, *users: str, profile: str = "one") -> None:
    for user in users:
        answer = commons.asks(user, "a", profile)
        assert isinstance(answer, Admitted)
        assert answer.standing is Standing.borrowed


def victims(commons: Commons) -> list[str]:
    names = {lease.id: str(lease.key.user) for lease in commons.leases}
    return [names[call.victim] for call in plan(commons.snapshot).calls]


def call_in(commons: Commons) -> tuple[Call, ...]:
    """Let the plan be carried out up to its notices."""
    calls = plan(commons.snapshot).calls
    by = {call.victim: call for call in calls}
    commons.leases = [
        lease.model_copy(
            update={
                "state": LeaseState.noticed,
                "called_in": lease.called_in
                or CalledIn(
                    for_lease=by[lease.id].for_lease,
                    since=commons.now,
                    stops_at=by[lease.id].stops_at,
                    reason=by[lease.id].reason,
                ),
            }
        )
        if lease.id in by
        else lease
        for lease in commons.leases
    ]
    return calls


def test_nobody_is_called_in_while_something_is_free() -> None:
    commons = Commons(two_teams())
    borrowed(commons, "ann", "ben")
    commons.waits("owner", "b", "one")
    commons.now += 2 * HALF_HOUR
    assert plan(commons.snapshot).calls == ()


def test_the_newest_borrower_goes_once_it_is_no_longer_protected() -> None:
    commons = Commons(two_teams(whole=2))
    borrowed(commons, "ann", "ben")
    owner = commons.waits("owner", "b", "one")
    assert plan(commons.snapshot).calls == ()
    commons.now += HALF_HOUR
    (call,) = plan(commons.snapshot).calls
    assert victims(commons) == ["ben"]
    assert call.for_lease == owner.id
    assert call.stops_at == commons.now + timedelta(minutes=15)
    assert call.reason.code == "called-in"
    assert "team b" not in call.reason.message


def test_the_policy_may_let_the_team_be_named() -> None:
    policy = two_teams(whole=1, notice={"name_teams": True})
    commons = Commons(policy)
    borrowed(commons, "ann")
    commons.waits("owner", "b", "one")
    commons.now += HALF_HOUR
    (call,) = plan(commons.snapshot).calls
    assert "team b" in call.reason.message


def test_a_guarantee_that_may_not_be_called_in_calls_nobody_in() -> None:
    policy = two_teams(whole=1)
    pool = policy.pools["whole"].model_copy(update={"reclaim": False})
    closed = policy.model_copy(update={"pools": {**policy.pools, "whole": pool}})
    commons = Commons(closed)
    borrowed(commons, "ann")
    owner = commons.waits("owner", "b", "one")
    commons.now += 2 * HALF_HOUR
    assert plan(commons.snapshot).calls == ()
    why = shield(closed, commons.leases[0], owner, commons.now)
    assert why is not None
    assert why.code == "reclaim-off"


def test_a_request_that_would_borrow_calls_nobody_in() -> None:
    policy = make_policy(
        {
            "a": team({"whole": {"nominal": "0"}}, name="a"),
            "b": team({"whole": {"nominal": "1"}}, name="b"),
        },
        whole=2,
    )
    commons = Commons(policy)
    borrowed(commons, "ann")
    commons.asks("owner", "b", "one")
    commons.waits("more", "b", "one")
    commons.now += 2 * HALF_HOUR
    assert plan(commons.snapshot).calls == ()


def test_several_owners_share_the_victims_and_nobody_is_taken_twice() -> None:
    commons = Commons(two_teams(whole=4))
    borrowed(commons, "ann", "ben", "cid", "dan")
    commons.now += HALF_HOUR
    commons.waits("one", "b", "one")
    commons.waits("two", "b", "two")
    commons.now += HALF_HOUR
    calls = plan(commons.snapshot).calls
    assert len(calls) == len({call.victim for call in calls}) == 3
    assert sorted(call.for_lease for call in calls).count(calls[0].for_lease) in {1, 2}


def test_a_request_for_two_gpus_takes_two_on_one_machine() -> None:
    commons = Commons(two_teams(whole=4))
    borrowed(commons, "ann", "ben", "cid", "dan")
    nodes = {str(one.key.user): one.devices[0].node for one in commons.leases}
    commons.waits("owner", "b", "two")
    commons.now += HALF_HOUR
    taken = victims(commons)
    assert len(taken) == 2
    assert len({nodes[user] for user in taken}) == 1


def test_a_set_that_makes_no_room_is_never_called_in() -> None:
    commons = Commons(two_teams(whole=1, cuts=(("3g.71gb", "1g.18gb", "1g.18gb"),)))
    borrowed(commons, "ann", "ben", profile="small")
    assert isinstance(commons.asks("big", "b", "half"), Admitted)
    commons.waits("owner", "b", "half")
    commons.now += 2 * HALF_HOUR
    assert plan(commons.snapshot).calls == ()


def test_planning_again_gives_the_same_and_what_is_not_needed_is_left_out() -> None:
    commons = Commons(two_teams(whole=2))
    borrowed(commons, "ann", "ben")
    commons.now += HALF_HOUR
    commons.waits("owner", "b", "one")
    first = call_in(commons)
    commons.now += timedelta(minutes=5)
    assert plan(commons.snapshot).calls == first
    commons.ends("ann")
    assert plan(commons.snapshot).calls == ()


def test_what_comes_free_in_time_spares_the_others_but_not_for_ever() -> None:
    commons = Commons(two_teams(whole=2))
    borrowed(commons, "ann", "ben")
    commons.now += HALF_HOUR
    commons.waits("owner", "b", "one")
    soon = commons.now + timedelta(minutes=10)
    commons.leases[0] = commons.leases[0].model_copy(update={"ends_at": soon})
    assert plan(commons.snapshot).calls == ()
    commons.now += HALF_HOUR
    commons.leases[0] = commons.leases[0].model_copy(
        update={"ends_at": commons.now + timedelta(minutes=10)}
    )
    assert victims(commons) == ["ben"]


def test_nothing_is_protected_beyond_an_owners_arrival_and_the_minimum() -> None:
    commons = Commons(two_teams(whole=1))
    commons.waits("owner", "b", "one")
    arrived = commons.leases[0].state_since
    late = commons.asks("late", "a", "cpu")
    assert isinstance(late, Admitted)
    commons.ends("late")
    borrower = Commons(two_teams(whole=1))
    borrowed(borrower, "ann")
    held = borrower.leases[0].model_copy(
        update={"assigned_at": arrived + timedelta(minutes=20), "safe_until": None}
    )
    commons.leases.append(held)
    commons.now = arrived + HALF_HOUR - timedelta(seconds=1)
    assert plan(commons.snapshot).calls == ()
    commons.now = arrived + HALF_HOUR
    assert victims(commons) == ["ann"]


TYPES = {
    "serve": {"title": "Serving", "weight": 700, "may_preempt": True},
    "try": {"title": "Trying", "weight": 100},
}


def one_team(preemption: str = "by_type", **more: Any) -> Commons:
    own = team({"whole": {"nominal": "1"}}, name="a", preemption=preemption, **more)
    other = team({"whole": {"nominal": "1"}}, name="b")
    return Commons(make_policy({"a": own, "b": other}, whole=2, task_types=TYPES))


def test_a_higher_task_type_may_stop_a_lower_one_of_its_own_team() -> None:
    commons = one_team(over="queue")
    commons.asks("low", "a", "one", task_type="try")
    commons.waits("high", "a", "one", task_type="serve")
    assert plan(commons.snapshot).calls == ()
    commons.now += HALF_HOUR
    (call,) = plan(commons.snapshot).calls
    assert call.reason.code == "called-in-by-type"
    assert "Serving" in call.reason.message


def test_off_means_off_and_a_lower_type_stops_nobody() -> None:
    off = one_team("off", over="queue")
    off.asks("low", "a", "one", task_type="try")
    off.waits("high", "a", "one", task_type="serve")
    off.now += HALF_HOUR
    assert plan(off.snapshot).calls == ()
    back = one_team(over="queue")
    back.asks("high", "a", "one", task_type="serve")
    back.waits("low", "a", "one", task_type="try")
    back.now += 2 * HALF_HOUR
    assert plan(back.snapshot).calls == ()


def test_a_mate_who_borrows_would_move_up_and_so_goes_as_well_or_nobody_does() -> None:
    commons = one_team()
    commons.asks("low", "a", "one", task_type="try")
    commons.asks("mate", "a", "one", task_type="serve")
    commons.waits("high", "a", "one", task_type="serve")
    commons.now += HALF_HOUR
    assert plan(commons.snapshot).calls == ()


def hold(commons: Commons, *users: str, **more: Any) -> None:
    """Let leases of people be held only: nobody has started on them."""
    commons.leases = [
        lease.model_copy(update={"state": LeaseState.held, **more})
        if lease.key.user in users
        else lease
        for lease in commons.leases
    ]


def given_up(commons: Commons) -> list[str]:
    names = {lease.id: str(lease.key.user) for lease in commons.leases}
    return [names[one.lease_id] for one in plan(commons.snapshot).given_up]


def test_what_is_only_held_for_a_borrower_goes_first_and_at_once() -> None:
    commons = Commons(two_teams(whole=2))
    borrowed(commons, "ann", "ben")
    commons.now += HALF_HOUR
    hold(commons, "ann")
    owner = commons.waits("owner", "b", "one")
    planned = plan(commons.snapshot)
    assert planned.calls == ()
    (one,) = planned.given_up
    assert given_up(commons) == ["ann"]
    assert (one.for_lease, one.reason.code) == (owner.id, "hold-given-up")
    assert "another team's guarantee" in one.reason.message
    assert owner.id in planned.served


def test_a_hold_needs_no_minimum_to_be_over_and_what_runs_keeps_its_own() -> None:
    commons = Commons(two_teams(whole=2))
    borrowed(commons, "ann", "ben")
    hold(commons, "ben")
    commons.waits("first", "b", "one")
    commons.waits("second", "b", "one")
    assert (given_up(commons), victims(commons)) == (["ben"], [])


def test_a_request_for_two_takes_the_hold_and_calls_in_the_rest() -> None:
    commons = Commons(two_teams(whole=3))
    borrowed(commons, "ann", "ben", "cid")
    commons.now += HALF_HOUR
    alone = next(one for one in commons.leases if one.devices[0].node == "node-2")
    (held, runs) = [one.key.user for one in commons.leases if one is not alone]
    hold(commons, held)
    commons.waits("owner", "b", "two")
    assert (given_up(commons), victims(commons)) == ([held], [runs])


def test_holds_are_kept_where_nothing_may_be_called_in_or_nobody_owns_it() -> None:
    policy = two_teams(whole=1)
    pool = policy.pools["whole"].model_copy(update={"reclaim": False})
    commons = Commons(policy.model_copy(update={"pools": {**policy.pools, "whole": pool}}))
    borrowed(commons, "ann")
    hold(commons, "ann")
    commons.waits("owner", "b", "one")
    assert given_up(commons) == []
    others = Commons(two_teams(whole=1))
    borrowed(others, "ann")
    hold(others, "ann")
    others.waits("mate", "a", "one")
    assert given_up(others) == []


def test_what_a_reservation_holds_is_its_own() -> None:
    commons = Commons(two_teams(whole=1))
    borrowed(commons, "ann")
    hold(commons, "ann", reservation="r-1")
    commons.waits("owner", "b", "one")
    assert given_up(commons) == []


def test_a_hold_is_kept_while_the_server_that_it_replaces_is_being_stopped_for_it() -> None:
    commons = Commons(two_teams(whole=2))
    borrowed(commons, "ann", "old")
    former = commons.leases[-1]
    hold(commons, "ann", replaces=former.id)
    commons.leases[-1] = former.model_copy(update={"state": LeaseState.stopping})
    commons.waits("first", "b", "one")
    commons.waits("owner", "b", "one")
    assert given_up(commons) == []
    commons.leases[1] = former
    assert given_up(commons) == ["ann"]


def check_calls(commons: Commons) -> None:
    """Check the contract on any state: who is called in, that all help, and that all are needed."""
    planned = plan(commons.snapshot)
    calls = planned.calls
    leases = {lease.id: lease for lease in commons.leases}
    gone = {call.victim for call in calls} | {one.lease_id for one in planned.given_up}
    assert len(gone) == len(calls) + len(planned.given_up)
    for one in planned.given_up:
        assert leases[one.lease_id].state is LeaseState.held
        assert gives_up_hold(commons.policy, leases[one.lease_id], leases[one.for_lease])
        left = plan(without(commons, gone - {one.lease_id}))
        assert left.calls or left.given_up
    for call in calls:
        victim, request = leases[call.victim], leases[call.for_lease]
        assert victim.standing is Standing.borrowed
        assert victim.team != request.team
        assert shield(commons.policy, victim, request, commons.now) is None
        left = plan(without(commons, gone - {call.victim}))
        assert left.calls or left.given_up
    served = frozenset(call.for_lease for call in calls)
    served |= {one.for_lease for one in planned.given_up}
    after = without(commons, gone, callers=served)
    assert (plan(after).calls, plan(after).given_up) == ((), ())
    answers = {one.lease.id: one.decision for one in line(after)}
    for name in served:
        answer = answers[name]
        assert isinstance(answer, Admitted)
        assert answer.standing is Standing.guaranteed


def without(
    commons: Commons, gone: Collection[LeaseId], *, callers: frozenset[LeaseId] = frozenset()
) -> Snapshot:
    """Let some leases have ended; a request that has called in comes first."""
    left = [
        lease.model_copy(update={"caller_since": commons.now, "priority": 1999})
        if lease.id in callers
        else lease
        for lease in commons.leases
        if lease.id not in gone
    ]
    return commons.snapshot.model_copy(update={"leases": tuple(left)})


@st.composite
def crowds(draw: st.DrawFn) -> Commons:
    """A pool that is full of those who came first, and then requests of those who own it."""
    owned = {
        name: {
            "whole": {"nominal": draw(st.sampled_from(["0", "1", "2"]))},
            "cut": {"nominal": draw(st.sampled_from(["0", "0.125", "0.5"]))},
        }
        for name in ("a", "b", "c")
    }
    policy = make_policy(
        {name: team(quota, name=name) for name, quota in owned.items()},
        whole=draw(st.integers(1, 4)),
        cuts=(("3g.71gb", "1g.18gb", "1g.18gb"), ("1g.18gb",) * 3),
    )
    commons = Commons(policy)
    kinds = st.tuples(
        st.sampled_from(["a", "b", "c"]), st.sampled_from(["one", "two", "half", "small"])
    )
    for number, (name, profile) in enumerate(draw(st.lists(kinds, min_size=3, max_size=12))):
        commons.asks(f"first-{number}", name, profile)
    hold(commons, *draw(st.sets(st.sampled_from([f"first-{n}" for n in range(12)]), max_size=4)))
    commons.now += timedelta(minutes=draw(st.sampled_from([0, 20, 60])))
    for number, (name, profile) in enumerate(draw(st.lists(kinds, min_size=1, max_size=4))):
        commons.waits(f"then-{number}", name, profile)
    commons.now += timedelta(minutes=draw(st.sampled_from([0, 30])))
    return commons


@given(crowds())
def test_the_contract_holds_in_any_state(commons: Commons) -> None:
    check_calls(commons)


@given(crowds(), st.randoms(use_true_random=False))
def test_the_order_of_leases_does_not_matter(commons: Commons, random: Random) -> None:
    before = plan(commons.snapshot)
    random.shuffle(commons.leases)
    after = plan(commons.snapshot)
    assert (after.calls, after.given_up) == (before.calls, before.given_up)


@given(crowds())
def test_nobody_loses_work_where_holds_alone_make_room(commons: Commons) -> None:
    for request in [one for one in commons.leases if one.state is LeaseState.queued]:
        alone = [one for one in commons.leases if one.id == request.id or one.holding]
        snapshot = commons.snapshot.model_copy(update={"leases": tuple(alone)})
        planned = plan(snapshot)
        holds = {
            one.id
            for one in alone
            if one.state is LeaseState.held and gives_up_hold(commons.policy, one, request)
        }
        without_holds = tuple(one for one in alone if one.id not in holds)
        answer = line(snapshot.model_copy(update={"leases": without_holds}))[0].decision
        if isinstance(answer, Admitted) and answer.standing is Standing.guaranteed:
            assert planned.calls == ()


@given(crowds())
def test_once_called_in_the_same_are_called_in_until_they_are_gone(commons: Commons) -> None:
    first = call_in(commons)
    commons.now += timedelta(minutes=5)
    again = plan(commons.snapshot).calls
    assert {one.victim for one in first} <= {one.victim for one in again}
    for one in first:
        assert one in again


@given(crowds())
def test_where_units_alone_decide_the_victims_are_those_that_the_engine_takes(
    commons: Commons,
) -> None:
    calls = plan(commons.snapshot).calls
    callers = {call.for_lease for call in calls}
    waiting = [lease for lease in commons.leases if lease.state is LeaseState.queued]
    if len(callers) != 1 or len(waiting) != 1:
        return
    (request,) = waiting
    numbers = {
        lease.id: lease.weight
        for lease in commons.leases
        if lease.holding and shield(commons.policy, lease, request, commons.now) is None
    }
    state = state_of(commons.snapshot, PoolName(str(request.pool)), numbers=numbers)
    found = targets(state, request.id)
    taken = {call.victim for call in calls}
    if found and plan(without(commons, {LeaseId(one.id) for one in found})).calls == ():
        assert taken == {LeaseId(one.id) for one in found}
