"""What the end of some leases makes room for: units that come free are no room of themselves."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.decision import Queued
from hub_ext.admission.placing import place, room_after
from hub_ext.admission.room import soonest_room
from hub_ext.admission.snapshot import Demand, Scene, demand_of, scene
from hub_ext.lease import Device, LeaseId, OpenLease, PoolName
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, Commons, make_lease, make_policy, request, team

WHOLE = PoolName("whole")


def commons_with(owners: Iterable[tuple[str, Device]], policy: Policy) -> Commons:
    """Give each person one device."""
    commons = Commons(policy)
    commons.leases = [
        make_lease(request(policy, user, "a", "one"), devices=(device,)) for user, device in owners
    ]
    return commons


def four_gpus() -> Policy:
    """Four whole GPUs on two machines; quota is only observed, so devices alone decide."""
    return make_policy({"a": team({"whole": {"nominal": "4"}}, name="a")}, whole=4, mode="observe")


def full(policy: Policy) -> Commons:
    """Each of the four GPUs held by one person: u0 and u1 on node-1, u2 and u3 on node-2."""
    there = [device for device in Commons(policy).devices if device.pool == WHOLE]
    return commons_with([(f"u{n}", device) for n, device in enumerate(there)], policy)


def asking(commons: Commons, profile: str) -> tuple[Scene, Demand]:
    """Somebody else asks for the profile."""
    asked = request(commons.policy, "vera", "a", profile, at=commons.now)
    view = scene(commons.snapshot, WHOLE, without=asked.key, lease_id=None)
    return view, demand_of(asked, WHOLE)


def of(commons: Commons, *users: str) -> set[LeaseId]:
    """Leases of these people."""
    return {lease.id for lease in commons.leases if lease.key.user in users}


def test_two_ends_on_one_machine_make_room_for_two_and_two_on_different_machines_do_not() -> None:
    commons = full(four_gpus())
    view, demand = asking(commons, "two")
    assert room_after(view, demand, of(commons, "u0", "u2")) is None
    room = room_after(view, demand, of(commons, "u0", "u1"))
    assert room is not None
    assert [device.node for device in room] == ["node-1", "node-1"]


def test_a_device_set_aside_for_somebody_ahead_stays_taken_when_its_lease_ends() -> None:
    commons = full(four_gpus())
    view, demand = asking(commons, "one")
    gone = of(commons, "u0")
    room = room_after(view, demand, gone)
    assert room == view.holding[0].devices
    ahead = view.after(demand, room)
    assert room_after(ahead, demand, gone) is None


def test_an_answer_names_the_ends_that_make_room_and_where() -> None:
    commons = full(four_gpus())
    commons.leases[3] = commons.leases[3].model_copy(update={"ends_at": NOON + timedelta(hours=1)})
    commons.leases[2] = commons.leases[2].model_copy(update={"ends_at": NOON + timedelta(hours=2)})
    answer = commons.asks("vera", "a", "two")
    assert isinstance(answer, Queued)
    assert "It fits on GPUs 0, 1 of node-2 once 2 servers there have ended" in answer.reason.message
    assert "in 1h, 2h at the latest" in answer.reason.message
    assert answer.reason.figures["room_on"] == "GPUs 0, 1 of node-2"
    assert answer.reason.figures["room_after_leases"] == 2
    assert answer.soonest_at == NOON + timedelta(hours=2)


def test_where_an_end_is_not_declared_the_answer_says_so_and_promises_nothing() -> None:
    commons = full(four_gpus())
    commons.leases = [lease.model_copy(update={"ends_at": None}) for lease in commons.leases]
    answer = commons.asks("vera", "a", "two")
    assert isinstance(answer, Queued)
    assert "for one no end is declared" in answer.reason.message
    assert answer.soonest_at is None
    assert "at the latest" not in answer.reason.message


def test_small_parts_that_are_free_are_shown_with_the_end_that_makes_room_for_a_large_one() -> None:
    policy = make_policy(
        {"a": team({"cut": {"nominal": "2"}}, name="a")},
        cuts=(("1g.18gb",) * 7, ("3g.71gb", "3g.71gb")),
    )
    commons = Commons(policy)
    commons.asks("u1", "a", "half")
    commons.asks("u2", "a", "half")
    answer = commons.asks("vera", "a", "half")
    assert isinstance(answer, Queued)
    assert answer.reason.message == (
        "0.875 GPU of pool cut are free, but no room for one 3g.71gb (0.5 GPU): the free devices "
        "are 7 x 1g.18gb on node-3. It fits on GPU 1 of node-3 once a server there has ended, in "
        "3h58m at the latest. Ask again later, or choose a smaller profile."
    )


@given(st.data())
def test_the_ends_that_are_named_make_room_and_none_of_them_is_needless(
    data: st.DataObject,
) -> None:
    commons = full(make_policy({"a": team({"whole": {"nominal": "8"}}, name="a")}, whole=8))
    hours = data.draw(st.lists(st.none() | st.integers(1, 5), min_size=8, max_size=8), label="ends")
    commons.leases = [
        lease.model_copy(update={"ends_at": None if end is None else NOON + timedelta(hours=end)})
        for lease, end in zip(commons.leases, hours, strict=True)
    ]
    if data.draw(st.booleans(), label="two of one lease"):
        first, second, *rest = commons.leases
        both = first.model_copy(update={"devices": first.devices + second.devices})
        commons.leases = [both, *rest]
    view, demand = asking(commons, "two")
    room = soonest_room(view, demand)
    assert room is not None
    named = _ids(room.leases)
    assert room_after(view, demand, named) is not None
    for fewer in combinations(named, len(named) - 1):
        assert room_after(view, demand, fewer) is None
    ended = {
        lease.id
        for lease in commons.leases
        if lease.ends_at and room.at and lease.ends_at < room.at
    }
    assert room_after(view, demand, ended) is None


@given(st.data())
def test_more_ends_never_make_less_room(data: st.DataObject) -> None:
    commons = full(four_gpus())
    held = data.draw(st.sets(st.sampled_from(commons.leases), min_size=1), label="held")
    commons.leases = [lease for lease in commons.leases if lease in held]
    view, demand = asking(commons, data.draw(st.sampled_from(["one", "two"]), label="profile"))
    some = data.draw(st.sets(st.sampled_from(commons.leases)), label="some")
    more = some | data.draw(st.sets(st.sampled_from(commons.leases)), label="more")
    first, then = (room_after(view, demand, _ids(leases)) for leases in (some, more))
    assert first is None or then is not None
    assert (room_after(view, demand, ()) is None) == (place(view, demand) is None)
    if first is not None:
        still = {device.id for one in commons.leases if one not in some for device in one.devices}
        assert still.isdisjoint(device.id for device in first)


def _ids(leases: Iterable[OpenLease]) -> frozenset[LeaseId]:
    return frozenset(lease.id for lease in leases)
