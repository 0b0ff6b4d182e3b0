"""A new lease and the reservations to come: it ends in time, waits, or is not concerned."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.decide import Admitted, Decision, Queued, decide, offers
from hub_ext.lease import Device, OpenLease, Standing
from hub_ext.lease.reserving import Reserved
from hub_ext.policy.room import held_devices, room_for, stays
from tests.support.pools import (
    NOON,
    Commons,
    all_devices,
    make_lease,
    make_policy,
    person,
    request,
    team,
)

TEAMS = {
    "vision": team({"whole": {"nominal": "2"}, "cut": {"nominal": "1"}}, name="vision"),
    "speech": team({"whole": {"nominal": "2"}, "cut": {"nominal": "0.5"}}, name="speech"),
}
WHOLE = ("gpu-1", 840)


def reserved(
    hours: float,
    length: float = 2,
    *,
    name: str = "r-1",
    user: str = "olga",
    team_name: str = "vision",
    flavor: tuple[str, int] = ("gpu-2", 1680),
    pool: str = "whole",
    devices: tuple[Device, ...] = (),
) -> Reserved:
    start = NOON + timedelta(hours=hours)
    return Reserved.model_validate(
        {
            "id": name,
            "key": {"user": user},
            "team": team_name,
            "pool": pool,
            "flavor": flavor[0],
            "units": flavor[1],
            "start": start,
            "end": start + timedelta(hours=length),
            "devices": devices,
        }
    )


def narrow() -> Commons:
    """One machine of two GPUs is in service."""
    policy = make_policy(TEAMS)
    return Commons(policy, devices=all_devices(policy)[:2])


def answer(commons: Commons, user: str, team_name: str, profile: str, *times: Reserved) -> Decision:
    snapshot = commons.snapshot.model_copy(update={"reservations": times})
    return decide(snapshot, request(commons.policy, user, team_name, profile, at=commons.now))


def admitted(decision: Decision) -> Admitted:
    assert isinstance(decision, Admitted)
    return decision


def test_while_room_is_left_for_it_a_reservation_concerns_nobody() -> None:
    commons = Commons(make_policy(TEAMS))
    assert admitted(answer(commons, "sam", "speech", "two", reserved(3))).ends_by is None


def test_a_lease_that_would_be_in_its_way_ends_when_it_begins_and_is_told_so() -> None:
    commons = narrow()
    given_lease = admitted(answer(commons, "sam", "speech", "one", reserved(3)))
    assert given_lease.ends_by == NOON + timedelta(hours=3)
    assert "Pool whole is reserved from 2026-11-30 15:00:00 UTC" in given_lease.reason.message
    assert "olga" not in given_lease.reason.message
    assert "vision" not in given_lease.reason.message


def test_the_form_offers_it_shortened() -> None:
    commons = narrow()
    snapshot = commons.snapshot.model_copy(update={"reservations": (reserved(3),)})
    (one,) = [
        offer
        for offer in offers(snapshot, person("sam", "speech")).offers
        if offer.profile == "one"
    ]
    assert (one.lifetime_default_s, one.lifetime_longest_s) == (3 * 3600, 3 * 3600)


def test_shortly_before_it_begins_nothing_new_starts_on_its_devices() -> None:
    commons = narrow()
    late = answer(commons, "sam", "speech", "one", reserved(0.1))
    assert isinstance(late, Queued)
    assert late.reason.code == "reserved"
    assert late.reason.figures["reserved_from"] == "2026-11-30 12:06:00 UTC"


def test_the_team_keeps_its_guarantee_free_for_its_own_reservation() -> None:
    commons = Commons(make_policy(TEAMS))
    given_lease = admitted(answer(commons, "vera", "vision", "one", reserved(3)))
    assert given_lease.ends_by == NOON + timedelta(hours=3)


def test_a_borrowed_lease_that_can_be_called_in_by_then_is_not_counted_against_others() -> None:
    commons = narrow()
    borrower = make_lease(
        request(commons.policy, "sue", "speech", "one"),
        devices=commons.devices[:1],
        standing=Standing.borrowed,
        assigned_at=NOON,
    )
    commons.leases.append(borrower)
    own_device = reserved(3, flavor=WHOLE)
    assert admitted(answer(commons, "sam", "speech", "one", own_device)).ends_by is None


def test_the_owners_own_server_is_not_shortened_by_what_is_reserved_for_it() -> None:
    commons = narrow()
    mine = reserved(3, user="vera")
    assert admitted(answer(commons, "vera", "vision", "one", mine)).ends_by is None


def test_what_is_kept_for_a_reservation_that_has_begun_is_not_free() -> None:
    commons = narrow()
    begun = reserved(-1, devices=commons.devices[:2])
    assert isinstance(answer(commons, "sam", "speech", "one", begun), Queued)
    owner = admitted(answer(commons, "olga", "vision", "two", begun))
    assert owner.standing is Standing.guaranteed


def test_what_is_kept_counts_for_its_team() -> None:
    commons = Commons(make_policy(TEAMS))
    begun = reserved(-1, devices=commons.devices[:2])
    given_lease = admitted(answer(commons, "vera", "vision", "one", begun))
    assert given_lease.standing is Standing.borrowed


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("vision", "speech")),
            st.sampled_from(("one", "two")),
            st.integers(0, 90),
        ),
        max_size=10,
    ),
    st.lists(
        st.tuples(
            st.sampled_from(("vision", "speech")),
            st.sampled_from((WHOLE, ("gpu-2", 1680))),
            st.integers(1, 8),
        ),
        max_size=3,
    ),
)
def test_whatever_starts_no_reservation_that_had_room_lacks_it(
    asks: list[tuple[str, str, int]], wishes: list[tuple[str, tuple[str, int], int]]
) -> None:
    commons = Commons(make_policy(TEAMS))
    times: list[Reserved] = []
    for number, (team_name, flavor, hours) in enumerate(wishes):
        one = reserved(
            hours, 3, name=f"r-{number}", user=f"o-{number}", team_name=team_name, flavor=flavor
        )
        beside = [*times, one]
        fits = all(
            room_for(commons.devices[:4], (), [x for x in beside if x.start <= y.start < x.end], {})
            and sum(x.units for x in beside if x.start <= y.start < x.end and x.team == one.team)
            <= 1680
            for y in beside
        )
        if fits:
            times.append(one)
    leases: list[OpenLease] = []
    for number, (team_name, profile, minutes) in enumerate(asks):
        commons.now += timedelta(minutes=minutes)
        if any(x.start <= commons.now for x in times):
            break
        commons.leases = [x for x in leases if stays(x, commons.now)]
        coming = tuple(x for x in times if x.start > commons.now)
        decision = answer(commons, f"u-{number}", team_name, profile, *coming)
        if isinstance(decision, Admitted):
            asked = request(commons.policy, f"u-{number}", team_name, profile, at=commons.now)
            end = commons.now + timedelta(hours=4)
            leases.append(
                make_lease(
                    asked,
                    devices=decision.devices,
                    standing=decision.standing,
                    assigned_at=commons.now,
                    ends_at=min(end, decision.ends_by or end),
                )
            )
    pool = commons.policy.pools["whole"]
    for time in times:
        beside = [x for x in times if x.start <= time.start < x.end]
        staying = [
            x
            for x in leases
            if stays(x, time.start)
            and (x.assigned_at or NOON) <= time.start
            and not (
                x.standing is Standing.borrowed
                and (x.assigned_at or NOON) + pool.min_runtime + pool.notice <= time.start
            )
        ]
        assert room_for(commons.devices[:4], held_devices(staying), beside, {}) is not None
