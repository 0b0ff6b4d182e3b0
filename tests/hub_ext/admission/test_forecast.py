"""When a request will start: a range that says what it is read from, and silence where none is."""

from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.decide import Admitted
from hub_ext.admission.forecast import MOST, Known, forecast
from hub_ext.admission.lives import WHOLE, Lives, Past, chance, life, lives
from hub_ext.lease import Cause, Forecast, LeaseId, LeaseState, Notice, OpenLease, Reason
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


def capped(whole: int = 2, **limits: Any) -> Policy:
    quota = {"whole": {"nominal": str(whole)}, "cut": {"nominal": "0.5"}}
    return make_policy({"a": team(quota, name="a", **limits)}, whole=whole)


def test_a_request_that_a_cap_holds_starts_when_one_of_its_leases_has_ended() -> None:
    commons = full(capped(whole=3, most_leases_per_person=1), "yx")
    mine = commons.waits("x", "a", "one", server="more")
    found = told(commons, mine)
    assert found.earliest == found.latest == commons.leases[1].ends_at


def test_where_its_cap_has_room_it_waits_for_a_device_as_well() -> None:
    commons = full(capped(whole=2, most_leases_per_person=1), "xy")
    other = commons.waits("vera", "a", "one")
    mine = commons.waits("x", "a", "one", server="more")
    assert told(commons, other).earliest == commons.leases[0].ends_at
    assert told(commons, mine).earliest == commons.leases[1].ends_at


def test_behind_others_of_the_same_cap_it_says_so() -> None:
    commons = full(capped(most_leases_per_person=1), "x")
    first = commons.waits("x", "a", "one", server="more")
    second = commons.waits("x", "a", "one", server="most")
    assert told(commons, first).earliest is not None
    found = told(commons, second)
    assert (found.earliest, found.latest) == (None, None)
    assert "same limit on leases before it" in found.words


def test_what_a_policy_never_allows_names_the_rule_in_place_of_a_time() -> None:
    policy = capped(whole=3)
    commons = full(policy, "x")
    mine = commons.waits("vera", "a", "two")
    small = policy.teams["a"].model_copy(update={"largest_request": 840})
    commons.policy = policy.model_copy(update={"teams": {"a": small}})
    found = told(commons, mine)
    assert found.earliest is None
    assert found.words.startswith("No forecast: ")
    assert "one server of team a may hold at most 1 GPU" in found.words


def waits_alone(commons: Commons, user: str) -> OpenLease:
    """Let somebody wait for a MIG device on a GPU that nobody else has a part of."""
    lease = commons.waits(user, "a", "half").model_copy(update={"alone": "gpu", "units": 840})
    commons.leases[-1] = lease
    return lease


def test_what_shares_with_nobody_cannot_start_before_a_gpu_is_empty() -> None:
    commons = Commons(owned(whole=1))
    commons.asks("x", "a", "half")
    commons.asks("y", "a", "half")
    mine = waits_alone(commons, "vera")
    found = told(commons, mine)
    assert (found.earliest, found.latest) == (commons.leases[1].ends_at, None)
    assert "no whole GPU can be empty before" in found.words
    commons.leases[0] = commons.leases[0].model_copy(update={"ends_at": None})
    assert "nothing that is declared leaves a whole GPU" in told(commons, mine).words


def test_far_behind_it_starts_not_before_those_of_its_kind_that_are_followed() -> None:
    commons = full(owned(whole=1), "x")
    waiting = [commons.waits(f"w{n}", "a", "one") for n in range(MOST + 2)]
    found = forecast(commons.snapshot, Known(ALL_WHOLE)).waiting
    last, beyond = found[waiting[MOST - 1].id], found[waiting[-1].id]
    assert last.earliest is not None
    assert (beyond.earliest, beyond.latest) == (last.earliest, None)
    assert "at the earliest" in beyond.words
    stranger = commons.waits("w", "a", "two")
    other = forecast(commons.snapshot, Known(ALL_WHOLE)).waiting[stranger.id]
    assert other.earliest is None
    assert other.words == "No forecast: too many wait before it to follow them all."


def test_every_request_and_every_newcomer_is_told_something() -> None:
    commons = full(capped(whole=2, most_leases=2, most_leases_per_person=1), "xy")
    for n in range(MOST + 5):
        commons.waits(f"w{n}", "a", ("one", "two")[n % 2])
    commons.waits("x", "a", "one", server="more")
    waits_alone(commons, "z")
    made = forecast(commons.snapshot, Known(ALL_WHOLE))
    waiting = [one.id for one in commons.leases if one.state is LeaseState.queued]
    assert set(made.waiting) == set(waiting)
    assert {name for _team, name in made.coming} >= {"one", "two"}
    assert all(one.words for one in (*made.waiting.values(), *made.coming.values()))


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
