"""When a reservation is, whatever the clocks of its zone do, and what stands against it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import LeaseState, Maintenance, OpenLease, Standing
from hub_ext.lease.reserving import Reservation
from hub_ext.policy.model import Policy, Reservable
from hub_ext.policy.room import room_for
from hub_ext.reservation import Books, check_wish, conflict, instant_of, occurrences, times
from tests.support.pools import NOON, all_devices, make_lease, make_policy, request, team
from tests.support.reserving import reservation

ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",  # moves by half an hour
    "Pacific/Apia",  # left out a whole day
    "America/Sao_Paulo",  # once jumped over midnight
    "Asia/Kathmandu",
)
FOREVER = datetime(2100, 1, 1, tzinfo=UTC)

zones = st.sampled_from(ZONES)
walls = st.datetimes(datetime(2005, 1, 1), datetime(2030, 1, 1)).map(  # noqa: DTZ001 - wall times
    lambda wall: wall.replace(microsecond=0)
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def local(instant: datetime, zone: str) -> datetime:
    return instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


# Clocks


def test_a_time_that_the_clock_jumps_over_means_the_jump() -> None:
    jump = utc("2027-03-28 01:00")
    for text in ("2027-03-28 02:00", "2027-03-28 02:30", "2027-03-28 02:59", "2027-03-28 03:00"):
        assert instant_of(wall(text), "Europe/Paris") == jump
    assert instant_of(wall("2027-03-28 03:01"), "Europe/Paris") == jump + timedelta(minutes=1)


def test_a_time_that_comes_twice_means_its_first_coming() -> None:
    assert instant_of(wall("2026-10-25 02:30"), "Europe/Paris") == utc("2026-10-25 00:30")
    assert instant_of(wall("2026-10-25 03:00"), "Europe/Paris") == utc("2026-10-25 02:00")


def test_a_day_that_a_country_left_out_means_the_jump() -> None:
    # Samoa went from 29 to 31 December 2011.
    jump = utc("2011-12-30 10:00")
    assert instant_of(wall("2011-12-30 15:00"), "Pacific/Apia") == jump
    assert instant_of(wall("2011-12-31 00:00"), "Pacific/Apia") == jump


@given(walls, walls, zones)
def test_order_is_kept(one: datetime, other: datetime, zone: str) -> None:
    first, second = sorted((one, other))
    assert instant_of(first, zone) <= instant_of(second, zone)


@given(walls, zones)
def test_a_wall_time_that_exists_is_shown_then_and_never_before(at: datetime, zone: str) -> None:
    instant = instant_of(at, zone)
    shown = local(instant, zone)
    if shown == at:
        again = at.replace(tzinfo=ZoneInfo(zone), fold=1).astimezone(UTC)
        assert instant <= again
    else:
        # It does not exist: a second earlier the clock was before it, and now it is past it.
        assert local(instant - timedelta(seconds=1), zone) < at < shown


def test_what_lies_in_a_jump_does_not_happen_and_the_other_weeks_do() -> None:
    one = reservation(
        "2027-03-21 02:10", "2027-03-21 02:50", zone="Europe/Paris", weekly_until="2027-04-04"
    )
    found = list(occurrences(one, NOON, FOREVER))
    assert [time.start for time in found] == [utc("2027-03-21 01:10"), utc("2027-04-04 00:10")]


def test_over_the_change_of_clocks_an_hour_more_or_less_passes() -> None:
    night = "Europe/Paris"
    (autumn,) = occurrences(
        reservation("2026-10-25 01:00", "2026-10-25 05:00", zone=night), utc("2026-01-01"), FOREVER
    )
    (spring,) = occurrences(
        reservation("2027-03-28 01:00", "2027-03-28 05:00", zone=night), NOON, FOREVER
    )
    assert autumn.end - autumn.start == timedelta(hours=5)
    assert spring.end - spring.start == timedelta(hours=3)


@given(walls, st.integers(1, 7 * 24 * 60), zones, st.integers(0, 60))
def test_weeks_keep_the_wall_time_and_never_overlap(
    starts: datetime, minutes: int, zone: str, weeks: int
) -> None:
    until = starts.date() + timedelta(weeks=weeks)
    one = reservation(
        starts.isoformat(),
        (starts + timedelta(minutes=minutes)).isoformat(),
        zone=zone,
        weekly_until=until.isoformat(),
    )
    found = list(occurrences(one, utc("2000-01-01"), FOREVER))
    assert len(found) <= weeks + 1
    for number, time in enumerate(found):
        assert time.start < time.end
        assert number == 0 or found[number - 1].end <= time.start
    wanted = {instant_of(starts + timedelta(weeks=n), zone) for n in range(weeks + 1)}
    assert {time.start for time in found} <= wanted


@given(walls, zones, st.integers(1, 30), st.sets(st.integers(0, 30)))
def test_days_that_are_left_out_take_their_own_times_and_no_others(
    starts: datetime, zone: str, weeks: int, left_out: set[int]
) -> None:
    one = reservation(
        starts.isoformat(),
        (starts + timedelta(hours=5)).isoformat(),
        zone=zone,
        weekly_until=(starts.date() + timedelta(weeks=weeks)).isoformat(),
    )
    days = tuple(starts.date() + timedelta(weeks=n) for n in left_out)
    every = list(occurrences(one, utc("2000-01-01"), FOREVER))
    found = list(occurrences(one.model_copy(update={"skipped": days}), utc("2000-01-01"), FOREVER))
    gone = {instant_of(starts + timedelta(weeks=n), zone) for n in left_out}
    assert found == [time for time in every if time.start not in gone]


@given(walls, zones, walls, walls)
def test_a_window_gives_exactly_the_times_that_touch_it(
    starts: datetime, zone: str, one_end: datetime, other_end: datetime
) -> None:
    first, last = sorted(at.replace(tzinfo=UTC) for at in (one_end, other_end))
    assume(first < last)
    one = reservation(
        starts.isoformat(),
        (starts + timedelta(hours=5)).isoformat(),
        zone=zone,
        weekly_until=(starts.date() + timedelta(weeks=50)).isoformat(),
    )
    every = list(occurrences(one, utc("2000-01-01"), FOREVER))
    assert list(occurrences(one, first, last)) == [
        time for time in every if time.end > first and time.start < last
    ]


# Limits


def policy(**reservable: object) -> Policy:
    rules = make_policy(
        {
            "vision": team({"whole": {"nominal": "2"}}, name="vision"),
            "speech": team({"whole": {"nominal": "2"}}, name="speech"),
        }
    )
    rule = Reservable.model_validate({"most": "4", **reservable})
    whole = rules.pools["whole"].model_copy(update={"reservable": rule})
    return rules.model_copy(update={"pools": {**rules.pools, "whole": whole}})


def weekly_but(*skipped: str) -> Reservation:
    """Two weeks, and days on which it shall not be."""
    return reservation(
        "2026-12-01 09:00", "2026-12-01 10:00", weekly_until="2026-12-08", skipped=skipped
    )


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (reservation("2026-12-01 09:00", "2026-12-01 08:00"), "bad-time"),
        (reservation("2026-11-29 09:00", "2026-11-29 10:00"), "bad-time"),
        (
            reservation("2026-12-01 09:00", "2026-12-01 10:00", flavor="share-4", units=210),
            "not-reservable",
        ),
        (reservation("2026-12-01 09:00", "2026-12-03 10:00"), "reservation-too-long"),
        (reservation("2027-02-01 09:00", "2027-02-01 10:00"), "reservation-too-far"),
        (
            reservation("2026-12-01 09:00", "2026-12-01 10:00", weekly_until="2027-02-01"),
            "reservation-too-far",
        ),
        (
            reservation("2026-12-01 09:00", "2026-12-01 10:00", weekly_until="2026-11-01"),
            "bad-time",
        ),
        (
            reservation("2026-12-01 09:00", "2026-12-01 10:00", units=5 * 840),
            "reservation-too-large",
        ),
        (
            reservation("2027-03-28 02:10", "2027-03-28 02:50", zone="Europe/Paris"),
            "bad-time",
        ),
        (
            reservation("2026-12-01 09:00", "2026-12-01 10:00", skipped=("2026-12-01",)),
            "bad-time",
        ),
        (weekly_but("2026-12-02"), "bad-time"),
        (weekly_but("2026-12-01", "2026-12-08"), "bad-time"),
    ],
)
def test_a_wish_beyond_the_limits_is_refused_with_them(one: Reservation, code: str) -> None:
    with pytest.raises(RefusedError) as caught:
        check_wish(policy(), one, NOON)
    assert caught.value.code == code


def test_a_wish_within_the_limits_passes() -> None:
    check_wish(
        policy(),
        reservation("2026-12-01 09:00", "2026-12-01 17:00", weekly_until="2026-12-15"),
        NOON,
    )


def test_a_pool_that_nobody_may_reserve_says_which_may_be() -> None:
    rules = policy()
    pools = {**rules.pools, "whole": rules.pools["whole"].model_copy(update={"reservable": None})}
    with pytest.raises(RefusedError) as caught:
        check_wish(
            rules.model_copy(update={"pools": pools}),
            reservation("2026-12-01 09:00", "2026-12-01 10:00"),
            NOON,
        )
    assert caught.value.code == "not-reservable"


# Conflicts


def books(
    rules: Policy, leases: tuple[OpenLease, ...] = (), others: tuple[Reservation, ...] = ()
) -> Books:
    found = tuple(time for one in others for time in times(one, NOON, FOREVER))
    return Books(rules, NOON, all_devices(rules), leases, found)


def running(
    rules: Policy, user: str, team_name: str, gpus: int, hours: int, **more: Any
) -> OpenLease:
    devices = [one for one in all_devices(rules) if one.pool == "whole"]
    first = {"sam": 2, "sue": 3}.get(user, 0)
    return make_lease(
        request(rules, user, team_name, "two" if gpus == 2 else "one"),
        devices=tuple(devices[first : first + gpus]),
        ends_at=NOON + timedelta(hours=hours),
        assigned_at=NOON,
        **more,
    )


def test_it_lies_inside_the_teams_guarantee_with_what_the_team_still_holds() -> None:
    rules = policy()
    wanted = reservation("2026-11-30 14:00", "2026-11-30 16:00", flavor="gpu-2", units=1680)
    assert conflict(wanted, books(rules)) is None
    mine = running(rules, "vera", "vision", 1, hours=3)
    found = conflict(wanted, books(rules, (mine,)))
    assert found is not None
    assert found.code == "reservation-beyond-guarantee"
    assert "1 GPU by leases that end later (the first at 2026-11-30 15:00:00 UTC)" in found.message
    ended = running(rules, "vera", "vision", 1, hours=2)
    assert conflict(wanted, books(rules, (ended,))) is None


def test_the_teams_other_reservations_count_where_they_overlap() -> None:
    rules = policy()
    there = reservation(
        "2026-12-01 09:00",
        "2026-12-01 12:00",
        name="r-9",
        flavor="gpu-2",
        units=1680,
        weekly_until="2026-12-15",
    )
    late = reservation("2026-12-15 11:00", "2026-12-15 13:00")
    found = conflict(late, books(rules, (), (there,)))
    assert found is not None
    assert found.figures["reserved"] == "2 GPUs"
    after = reservation("2026-12-15 12:00", "2026-12-15 13:00")
    assert conflict(after, books(rules, (), (there,))) is None


def test_all_reservations_together_stay_within_the_most() -> None:
    rules = policy(most="2")
    there = reservation(
        "2026-12-01 09:00", "2026-12-01 12:00", name="r-9", team="speech", units=1680
    )
    found = conflict(
        reservation("2026-12-01 11:00", "2026-12-01 13:00"), books(rules, (), (there,))
    )
    assert found is not None
    assert found.code == "reservation-beyond-most"


def test_guaranteed_leases_of_others_are_never_in_the_way_to_be_taken() -> None:
    rules = policy()
    wanted = reservation("2026-11-30 13:00", "2026-11-30 14:00", flavor="gpu-2", units=1680)
    devices = [one for one in all_devices(rules) if one.pool == "whole"]
    # One GPU of each machine is taken: no two are left on one.
    spread = [
        running(rules, "sam", "speech", 1, hours=4).model_copy(update={"devices": (devices[0],)}),
        running(rules, "sue", "speech", 1, hours=4).model_copy(update={"devices": (devices[2],)}),
    ]
    found = conflict(wanted, books(rules, tuple(spread)))
    assert found is not None
    assert found.code == "reservation-no-room"
    assert "the first at 2026-11-30 16:00:00 UTC" in found.message
    borrowed = tuple(one.model_copy(update={"standing": Standing.borrowed}) for one in spread)
    # 30 min safe and 15 min of notice: they can be gone by then.
    assert conflict(wanted, books(rules, borrowed)) is None
    soon = reservation("2026-11-30 12:40", "2026-11-30 14:00", flavor="gpu-2", units=1680)
    assert conflict(soon, books(rules, borrowed)) is not None


def test_where_nothing_is_called_in_borrowed_leases_stand_too() -> None:
    rules = policy()
    pool = rules.pools["whole"].model_copy(update={"reclaim": False})
    rules = rules.model_copy(update={"pools": {**rules.pools, "whole": pool}})
    devices = [one for one in all_devices(rules) if one.pool == "whole"]
    borrowed = tuple(
        running(rules, name, "speech", 1, hours=4, standing=Standing.borrowed).model_copy(
            update={"devices": (device,)}
        )
        for name, device in (("sam", devices[0]), ("sue", devices[2]))
    )
    wanted = reservation("2026-11-30 14:00", "2026-11-30 15:00", flavor="gpu-2", units=1680)
    assert conflict(wanted, books(rules, borrowed)) is not None


def test_where_quota_is_only_observed_nobody_is_stopped_for_it() -> None:
    rules = policy()
    rules = rules.model_copy(update={"modes": rules.modes.model_copy(update={"quota": "observe"})})
    devices = [one for one in all_devices(rules) if one.pool == "whole"]
    borrowed = tuple(
        running(rules, name, "speech", 1, hours=4, standing=Standing.borrowed).model_copy(
            update={"devices": (device,)}
        )
        for name, device in (("sam", devices[0]), ("sue", devices[2]))
    )
    wanted = reservation("2026-11-30 14:00", "2026-11-30 15:00", flavor="gpu-2", units=1680)
    assert conflict(wanted, books(rules, borrowed)) is not None


def test_devices_in_maintenance_then_are_not_there() -> None:
    rules = policy()
    window = Maintenance.model_validate(
        {
            "id": "m-1",
            "place": "node",
            "name": "node-1",
            "start": NOON + timedelta(hours=20),
            "end": NOON + timedelta(hours=22),
            "by": "ada",
            "at": NOON,
            "reason": "disk",
        }
    )
    before = reservation("2026-12-01 06:00", "2026-12-01 08:00", flavor="gpu-2", units=1680)
    during = reservation("2026-12-01 07:00", "2026-12-01 09:00", flavor="gpu-2", units=1680)
    there = reservation(
        "2026-12-01 05:00", "2026-12-01 10:00", name="r-9", team="speech", units=840
    )
    known = replace(books(rules, (), (there,)), maintenance=(window,))
    assert conflict(before, known) is None
    found = conflict(during, known)
    assert found is not None
    assert found.code == "reservation-no-room"
    assert found.figures["devices"] == "2 GPUs"


def test_what_is_stopping_or_only_waits_is_not_counted() -> None:
    rules = policy()
    wanted = reservation("2026-11-30 14:00", "2026-11-30 16:00", flavor="gpu-2", units=1680)
    gone = running(rules, "vera", "vision", 2, hours=9, state=LeaseState.stopping)
    waits = running(rules, "vera", "vision", 2, hours=9, state=LeaseState.queued)
    assert conflict(wanted, books(rules, (gone, waits))) is None


starts_of = st.integers(0, 40)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("vision", "speech")),
            st.sampled_from((("gpu-1", 840), ("gpu-2", 1680))),
            starts_of,
            st.integers(1, 12),
        ),
        max_size=12,
    )
)
def test_whatever_was_accepted_can_be_kept_at_every_instant(
    wishes: list[tuple[str, tuple[str, int], int, int]],
) -> None:
    rules = policy(most="3")
    base = datetime(2026, 12, 1, tzinfo=UTC)
    accepted: list[Reservation] = []
    for number, (team_name, (flavor, units), start, length) in enumerate(wishes):
        one = reservation(
            (base + timedelta(hours=start)).replace(tzinfo=None).isoformat(),
            (base + timedelta(hours=start + length)).replace(tzinfo=None).isoformat(),
            name=f"r-{number}",
            team=team_name,
            flavor=flavor,
            units=units,
        )
        if conflict(one, books(rules, (), tuple(accepted))) is None:
            accepted.append(one)
    devices = tuple(one for one in all_devices(rules) if one.pool == "whole")
    for hour in range(60):
        at = base + timedelta(hours=hour, minutes=30)
        now = [
            time
            for one in accepted
            for time in times(one, base, FOREVER)
            if time.start <= at < time.end
        ]
        assert sum(time.units for time in now) <= 3 * 840
        for team_name in ("vision", "speech"):
            assert sum(time.units for time in now if time.team == team_name) <= 2 * 840
        assert room_for(devices, (), now, {}) is not None
