"""When a request will start: a range that says what it is read from, and silence where none is."""

from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.decide import Admitted
from hub_ext.admission.forecast import Known, forecast
from hub_ext.admission.lives import WHOLE, Lives, Past, chance, life, lives
from hub_ext.lease import Cause, Forecast, LeaseId, Notice, OpenLease, Reason
from hub_ext.policy.model import Policy
from tests.support.pools import NOON, Commons, make_policy, team

HOUR = timedelta(hours=1)


def stayed(span: timedelta) -> Past:
    return Past(NOON, "a", None, "one", HOUR, span)


ALL_WHOLE = lives([stayed(HOUR)] * 20)
"""Everybody stays to the declared end."""


def owned(whole: int = 2, **more: Any) -> Policy:
    quota = {"whole": {"nominal": str(whole)}, "cut": {"nominal": "0.5"}}
    return make_policy({"a": team(quota, name="a")}, whole=whole, **more)


def told(commons: Commons, lease: OpenLease, known: Known | None = None) -> Forecast:
    return forecast(commons.snapshot, known or Known(ALL_WHOLE)).waiting[lease.id]


def full(policy: Policy, people: str = "xy") -> Commons:
    commons = Commons(policy)
    for user in people:
        assert isinstance(commons.asks(user, "a", "one"), Admitted)
    return commons


def test_where_everybody_stays_to_the_end_the_start_is_the_first_end() -> None:
    commons = full(owned())
    first = commons.leases[0].ends_at
    found = told(commons, commons.waits("vera", "a", "one"))
    assert found.earliest == found.latest == first
    assert found.learned == 20


def test_the_second_in_line_starts_at_the_second_end() -> None:
    commons = full(owned())
    commons.waits("vera", "a", "one")
    second = commons.waits("wim", "a", "one")
    assert told(commons, second).earliest == commons.leases[1].ends_at


def test_those_ahead_hold_what_they_got_for_their_own_lifetime() -> None:
    commons = full(owned(whole=1), "x")
    end = commons.leases[0].ends_at
    assert end is not None
    commons.waits("vera", "a", "one", lifetime_s=7200)
    second = commons.waits("wim", "a", "one")
    assert told(commons, second).earliest == end + 2 * HOUR


def test_two_gpus_wait_for_two_ends_on_one_machine() -> None:
    commons = full(owned(whole=3), "xyz")
    there = [one for one in commons.leases if one.devices[0].node == "node-1"]
    found = told(commons, commons.waits("vera", "a", "two"))
    assert found.earliest == max(one.ends_at for one in there if one.ends_at)


def test_an_early_end_makes_the_range_begin_early() -> None:
    commons = full(owned(whole=1), "x")
    end = commons.leases[0].ends_at
    mixed = lives([stayed(HOUR * share // 10) for share in range(1, 11)] * 2)
    found = told(commons, commons.waits("vera", "a", "one"), Known(mixed))
    assert found.earliest is not None
    assert found.latest is not None
    assert end is not None
    assert commons.now <= found.earliest < found.latest <= end


def test_an_announced_stop_is_nearer_than_a_declared_end() -> None:
    commons = full(owned(whole=1), "x")
    stop = commons.now + timedelta(minutes=20)
    notice = Notice(
        cause=Cause.admin,
        given_at=commons.now,
        stops_at=stop,
        reason=Reason(code="x", message="x"),
    )
    commons.leases = [commons.leases[0].model_copy(update={"notice": notice})]
    assert told(commons, commons.waits("vera", "a", "one")).earliest == stop


def test_a_quiet_server_may_be_stopped_before_its_end() -> None:
    commons = full(owned(whole=1), "x")
    idle = commons.now + HOUR
    known = Known(ALL_WHOLE, idle_at={commons.leases[0].id: idle})
    found = told(commons, commons.waits("vera", "a", "one"), known)
    assert (found.earliest, found.latest) == (idle, commons.leases[0].ends_at)


def test_an_owner_counts_on_calling_in_what_others_borrow() -> None:
    nominal = {"a": "0", "b": "1"}
    policy = make_policy(
        {
            name: team({"whole": {"nominal": n}, "cut": {"nominal": "0.25"}}, name=name)
            for name, n in nominal.items()
        },
        whole=1,
    )
    commons = full(policy, "x")
    since = commons.leases[0].requested_at
    pool = policy.pools["whole"]
    found = told(commons, commons.waits("vera", "b", "one"))
    assert found.earliest == since + pool.min_runtime + pool.notice


def test_what_no_declared_end_makes_room_for_has_no_time() -> None:
    commons = full(owned(whole=1), "x")
    commons.leases = [commons.leases[0].model_copy(update={"ends_at": None})]
    found = told(commons, commons.waits("vera", "a", "one"))
    assert (found.earliest, found.latest) == (None, None)
    assert "declared" in found.words


def test_a_request_that_a_cap_holds_has_no_time() -> None:
    quota = {"whole": {"nominal": "2"}, "cut": {"nominal": "0.5"}}
    policy = make_policy({"a": team(quota, name="a", most_leases_per_person=1)}, whole=2)
    commons = full(policy, "x")
    mine = commons.waits("x", "a", "one", server="more")
    assert told(commons, mine).earliest is None


def test_a_newcomer_comes_after_all_who_wait() -> None:
    commons = full(owned())
    commons.waits("vera", "a", "one")
    coming = forecast(commons.snapshot, Known(ALL_WHOLE)).coming
    assert coming["a", "one"].earliest == commons.leases[1].ends_at


def test_without_history_it_says_that_it_guesses() -> None:
    commons = full(owned(whole=1), "x")
    found = told(commons, commons.waits("vera", "a", "one"), Known())
    assert found.learned == 0
    assert "not known yet" in found.words


@given(st.integers(0, 2**16))
def test_the_range_lies_ahead_is_ordered_and_the_same_twice(seed: int) -> None:
    luck = Random(seed)
    commons = Commons(owned(whole=4))
    for n in range(luck.randrange(2, 9)):
        profile = luck.choice(["one", "two"])
        if luck.random() < 0.5:
            commons.asks(f"u{n}", "a", profile)
        else:
            commons.waits(f"w{n}", "a", profile)
    found = forecast(commons.snapshot, Known())
    luck.shuffle(commons.leases)
    assert forecast(commons.snapshot, Known()) == found
    for one in (*found.waiting.values(), *found.coming.values()):
        assert one.words
        if one.earliest is not None:
            assert commons.now <= one.earliest
        if one.latest is not None:
            assert one.earliest is not None
            assert one.earliest <= one.latest


@given(
    st.lists(st.integers(0, 1500), min_size=0, max_size=40),
    st.integers(0, 7200),
    st.integers(0, WHOLE - 1),
)
def test_a_life_is_never_shorter_than_the_age(shares: list[int], age_s: int, at: int) -> None:
    known = Lives({}, tuple(sorted(shares)))
    age = timedelta(seconds=age_s)
    assert life(known, "one", HOUR, age, at) >= age


def test_chances_are_spread() -> None:
    found = [chance(LeaseId("l-1"), course) for course in range(400)]
    assert 400 < sum(found) / len(found) < 600
