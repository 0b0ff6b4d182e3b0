"""Reservations from wish to end: held at their start, claimed, not come to, in nobody's way."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    Cause,
    LeaseState,
    Liveness,
    OpenLease,
    Posting,
    ProfileName,
    Reason,
    Standing,
    TeamName,
    UserName,
    When,
)
from hub_ext.lease.reserving import UNUSED, Reservation, ReservationWish
from hub_ext.ledger.said import said
from hub_ext.policy.load import loads
from hub_ext.service.basis.access import Caller
from hub_ext.service.leasing import renaming
from hub_ext.service.workers.cull import Culler
from tests.support.governing import GROUPS, POLICY, START, Site, site_in
from tests.support.ledger_places import ENGINES
from tests.support.true_site import true_site

RULES = POLICY.replace(
    "nodes: [{name: node-2, gpus: 3}]",
    "nodes: [{name: node-2, gpus: 3}]\n"
    '    reservable: {by: leads, most: "3", longest: 8h, ahead: 14d, no_show: 15m}',
)
EVERYONE = RULES.replace("by: leads", "by: everyone")
LARS = Caller(kind="person", name="lars")
LENA = Caller(kind="person", name="lena")
ADMIN = Caller(kind="person", name="root", admin=True)
HOUR = 3600


@pytest.fixture(params=ENGINES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A site whose pool `whole` may be reserved by leads; its ledger is true at the end."""
    with true_site(request, tmp_path, RULES) as opened:
        yield opened


def person(user: str) -> Caller:
    return Caller(kind="person", name=user, groups=GROUPS[user])


def wall(at: datetime) -> datetime:
    return at.replace(tzinfo=None)


def reserve(
    site: Site,
    *,
    after: float = 2,
    length: float = 3,
    user: str = "sam",
    team: str = "speech",
    profile: str = "one",
    by: Caller = LARS,
    **more: object,
) -> Reservation:
    start = site.now + timedelta(hours=after)
    wish = {
        "profile": profile,
        "team": team,
        "user": user,
        "starts": wall(start),
        "ends": wall(start + timedelta(hours=length)),
        **more,
    }
    return site.governor.reserve(ReservationWish.model_validate(wish), by, now=site.now)


def refused(site: Site, **wish: object) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        reserve(site, **wish)  # type: ignore[arg-type]
    assert caught.value.status < 500
    return caught.value


DEAR = RULES.replace("projects:\n", "value: {purpose_above: '1.00'}\nprojects:\n", 1)


def test_reserved_time_says_what_it_is_for_and_so_does_the_lease_that_has_it(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path / "state", policy=DEAR) as site:
        found = refused(site)
        assert (found.code, found.status) == ("no-purpose", 400)
        assert "“For what”" in found.message
        assert site.governor.reserved(site.now, site.now)[0] == ()
        reserve(site, reason="  The camera-ready run ")
        tend(site, 2 * HOUR)
        lease = held(site, "sam")
        with site.ledger.transaction() as tx:
            assert said(tx, lease.id)[0].purpose == "The camera-ready run"
        asked = site.asking("sam")
        assert site.ask(asked).lease_id == lease.id, "nobody is asked twice"


def tend(site: Site, seconds: float = 0) -> None:
    site.later(seconds)
    site.governor.tend_reservations(now=site.now)


def lease_of(site: Site, user: str) -> OpenLease | None:
    return next((one for one in site.governor.leases() if one.key.user == user), None)


def held(site: Site, user: str) -> OpenLease:
    lease = lease_of(site, user)
    assert lease is not None
    assert lease.state is LeaseState.held
    return lease


def present(site: Site) -> tuple[Reservation, ...]:
    return site.governor.reserved(site.now, site.now)[0]


def kinds(site: Site) -> list[str]:
    with site.ledger.transaction() as tx:
        events = tx.events(limit=1000)
    return [event.kind for _seq, event in events if event.kind.startswith("reservation.")]


def unused(site: Site) -> list[Posting]:
    with site.ledger.transaction() as tx:
        lines = tx.postings(start=START, end=site.now + timedelta(days=30))
    return [line for line in lines if line.flavor == UNUSED]


# Making one


def test_leads_reserve_for_their_members_and_nobody_else_does(site: Site) -> None:
    assert refused(site, by=person("sam")).code == "reservation-by-leads"
    assert refused(site, by=LENA).code == "not-your-team"
    assert reserve(site).key.user == "sam"
    assert reserve(site, by=ADMIN, user="sue").made_by == "root"


@pytest.mark.parametrize("by", [LARS, ADMIN], ids=["lead", "admin"])
def test_nobody_reserves_in_the_name_of_who_is_not_in_the_team(site: Site, by: Caller) -> None:
    start = site.now + timedelta(hours=2)
    wish = ReservationWish(
        profile=ProfileName("one"),
        team=TeamName("speech"),
        user=UserName("vera"),
        starts=wall(start),
        ends=wall(start + timedelta(hours=3)),
    )
    for groups in ((), ("vision",)):
        with pytest.raises(RefusedError) as caught:
            site.governor.reserve(wish, by, groups=groups, now=site.now)
        assert caught.value.code == "not-a-member"
        assert "Reserve for a member" in caught.value.message
    made = site.governor.reserve(wish, by, groups=("speech", "vision"), now=site.now)
    assert made.groups == ("speech", "vision")


@pytest.mark.parametrize("names", [{"user": ""}, {"user": "s\0m"}, {"server": "\0"}])
def test_a_name_that_no_hub_has_is_refused_at_once(site: Site, names: dict[str, str]) -> None:
    assert refused(site, **names).code == "bad-name"
    assert present(site) == ()


def test_where_everyone_may_a_member_reserves_for_themselves_alone(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=EVERYONE) as site:
        assert reserve(site, by=person("sam")).key.user == "sam"
        assert refused(site, by=person("sam"), user="sue").code == "not-your-team"
        assert refused(site, by=person("sam"), team="vision", user="sam").code == "not-your-team"


def test_a_conflict_is_refused_with_its_figures_and_running_ends_count(site: Site) -> None:
    site.run("sue")  # lives for an hour
    soon = refused(site, after=0.5, profile="two")
    assert soon.code == "reservation-beyond-guarantee"
    assert soon.figures["held"] == "1 GPU"
    assert soon.figures["first_end"] == "2026-11-30 10:00:00 UTC"
    reserve(site, after=1, profile="two")
    late = refused(site, after=2, length=1)
    assert late.figures["reserved"] == "2 GPUs"


def test_a_pool_that_is_not_reservable_says_which_is(site: Site) -> None:
    answer = refused(site, user="vera", team="vision", profile="small", by=LENA)
    assert (answer.code, answer.status) == ("not-reservable", 403)
    assert "whole" in answer.message


def test_only_who_may_see_it_calls_it_off(site: Site) -> None:
    one = reserve(site)
    for stranger in (LENA, person("sue")):
        with pytest.raises(RefusedError) as caught:
            site.governor.cancel_reservation(one.id, stranger, now=site.now)
        assert caught.value.status == 404
    site.governor.cancel_reservation(one.id, person("sam"), now=site.now)
    assert present(site) == ()
    assert kinds(site) == ["reservation.made", "reservation.cancelled"]


# Its time


def test_a_reservation_for_tomorrow_does_not_stop_todays_server(site: Site) -> None:
    grant = site.run("sam")
    reserve(site, after=24)
    for _look in range(6):
        tend(site, 600)
        assert site.lease(grant).state is LeaseState.running
        assert site.lease(grant).notice is None
    assert site.lease(grant).ends_at == START + timedelta(hours=1)
    site.stop(grant)
    again = site.run("sam")
    assert site.lease(again).state is LeaseState.running
    assert kinds(site) == ["reservation.made"]


def test_at_its_start_gpus_are_held_and_the_owners_server_claims_them(site: Site) -> None:
    reserve(site, profile="two")
    tend(site, 2 * HOUR - 1)
    assert lease_of(site, "sam") is None
    tend(site, 1)
    waiting = held(site, "sam")
    assert len(waiting.devices) == 2
    assert waiting.standing is Standing.guaranteed
    assert waiting.reason is not None
    assert "held until 2026-11-30 11:15:00 UTC" in waiting.reason.message
    site.later(600)
    grant = site.run("sam", "two")
    lease = site.lease(grant)
    assert lease.id == waiting.id
    assert lease.ends_at == lease.longest_end_at == START + timedelta(hours=5)
    tend(site)
    (line,) = unused(site)
    assert (line.seconds, line.amount_micro, line.team) == (600, 2 * 600_000, "speech")
    site.stop(grant)
    with site.ledger.transaction() as tx:
        lines = tx.postings(start=START, end=START + timedelta(days=1))
    assert {(one.lease_id, one.start) for one in lines} == {
        (line.lease_id, START + timedelta(hours=2)),
        (lease.id, START + timedelta(hours=2, minutes=10)),
    }


def test_unused_time_costs_the_share_that_was_agreed(site: Site) -> None:
    site.policy_text = RULES.replace("no_show: 15m", "no_show: 15m, unused_percent: 25")
    site.governor.set_policy(loads(site.policy_text), now=site.now)
    reserve(site)
    site.governor.set_policy(loads(RULES), now=site.now)
    tend(site, 2 * HOUR)
    tend(site, 900)
    (line,) = unused(site)
    assert (line.price_micro_per_hour, line.amount_micro) == (900_000, 225_000)


def test_who_does_not_come_loses_it_and_pays_for_what_was_kept(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    lease = held(site, "sam")
    tend(site, 899)
    assert lease_of(site, "sam") is not None
    tend(site, 1)
    closed = site.now_is(lease)
    assert (closed.state, closed.cause) == (LeaseState.closed, Cause.never_used)
    assert site.held() == []
    assert present(site) == ()
    (line,) = unused(site)
    assert (line.seconds, line.cause) == (900, Cause.never_used)
    assert kinds(site)[-1] == "reservation.no_show"


def test_a_weekly_one_comes_again_after_somebody_did_not_come(site: Site) -> None:
    until = (START + timedelta(days=7)).date()
    reserve(site, weekly_until=until)
    tend(site, 2 * HOUR)
    tend(site, 900)
    assert len(present(site)) == 1
    tend(site, 7 * 24 * HOUR - 901)
    assert lease_of(site, "sam") is None
    site.report_devices()
    tend(site, 1)
    held(site, "sam")


def skip(site: Site, one: Reservation, day: date, by: Caller = LARS) -> Reservation:
    return site.governor.skip_reservation(one.id, day, by, now=site.now)


def test_one_time_of_a_weekly_one_is_left_out_and_the_others_come(site: Site) -> None:
    first = START.date()
    made = reserve(site, weekly_until=first + timedelta(days=7))
    skip(site, made, first)
    for week, comes in ((0, False), (1, True)):
        site.now = START + timedelta(days=7 * week, hours=2)
        site.report_devices()
        tend(site, 1)
        assert (lease_of(site, "sam") is not None) is comes
    assert kinds(site).count("reservation.opened") == 1


def test_what_is_left_out_is_anybodys_again(site: Site) -> None:
    day = START.date() + timedelta(days=7)
    made = reserve(site, profile="two", weekly_until=day)
    assert refused(site, after=2 + 7 * 24, user="sue").code == "reservation-beyond-guarantee"
    skip(site, made, day)
    assert reserve(site, after=2 + 7 * 24, user="sue").key.user == "sue"


def test_only_a_time_to_come_is_left_out_and_never_the_last(site: Site) -> None:
    first = START.date()
    once = reserve(site, user="sue", after=10, length=1)
    weekly = reserve(site, weekly_until=first + timedelta(days=7))
    for one, day, code in (
        (once, first, "last-time"),
        (weekly, first + timedelta(days=1), "no-such-time"),
        (weekly, first - timedelta(days=7), "no-such-time"),
    ):
        with pytest.raises(RefusedError) as caught:
            skip(site, one, day)
        assert caught.value.code == code
    with pytest.raises(RefusedError) as hidden:
        skip(site, weekly, first, person("vera"))
    assert hidden.value.code == "no-such-reservation"
    tend(site, 2 * HOUR)
    with pytest.raises(RefusedError) as begun:
        skip(site, weekly, first)
    assert begun.value.code == "no-such-time"
    assert str(first + timedelta(days=7)) in begun.value.message
    with pytest.raises(RefusedError) as last:
        skip(site, weekly, first + timedelta(days=7))
    assert last.value.code == "last-time"


def test_where_the_owners_server_runs_gpus_are_kept_until_it_changes_over(site: Site) -> None:
    reserve(site, profile="one")
    cpu = site.run("sam", "cpu")
    tend(site, 2 * HOUR)
    assert site.lease(cpu).state is LeaseState.running
    (one,) = present(site)
    assert one.current is not None
    (kept,) = one.current.devices
    assert one.current.reason is not None
    assert "start it as one to change over" in one.current.reason.message
    # Two of three GPUs are left for others, and the team's own guarantee is one less.
    site.run("vera")
    assert site.lease(site.run("sue")).standing is Standing.guaranteed
    site.stop(cpu)
    tend(site)
    assert held(site, "sam").devices == (kept,)
    grant = site.run("sam")
    assert site.lease(grant).ends_at == START + timedelta(hours=5)


def test_who_asks_in_the_very_second_between_has_what_was_kept(site: Site) -> None:
    reserve(site, profile="one")
    cpu = site.run("sam", "cpu")
    tend(site, 2 * HOUR)
    site.run("sue")
    site.stop(cpu)
    grant = site.run("sam")
    tend(site)
    assert site.lease(grant).reservation is not None
    assert site.lease(grant).ends_at == START + timedelta(hours=5)
    assert site.lease(grant).standing is Standing.guaranteed


def test_what_its_own_server_leaves_is_nobody_elses(site: Site) -> None:
    site.run("vera")
    mine = site.run("sam", "two")
    reserve(site, after=0.5)
    tend(site, HOUR / 2)
    (one,) = present(site)
    assert one.current is not None
    assert one.current.reason is not None
    assert "beside what your own server holds" in one.current.reason.message
    site.stop(mine)
    # In the very second in which nobody has looked yet.
    with pytest.raises(RefusedError) as caught:
        site.ask(site.asking("sue", "two"))
    assert "Pool whole is reserved from 2026-11-30 09:30:00 UTC" in caught.value.message
    assert site.lease(site.run("viktor")).standing is Standing.borrowed
    tend(site)
    assert len(held(site, "sam").devices) == 1
    assert unused(site) == []


def test_a_server_that_runs_as_reserved_simply_runs_on(site: Site) -> None:
    reserve(site, after=0.5)
    grant = site.run("sam")
    tend(site, HOUR / 2)
    lease = site.lease(grant)
    assert lease.ends_at == START + timedelta(hours=3.5)
    assert lease.reservation is not None
    assert unused(site) == []


def test_who_reserves_less_for_somebody_does_not_end_their_server_sooner(site: Site) -> None:
    grant = site.run("sue")
    before = site.lease(grant)
    reserve(site, user="sue", after=0.1, length=0.2)
    tend(site, HOUR / 10)
    lease = site.lease(grant)
    assert lease.reservation is not None
    assert (lease.ends_at, lease.longest_end_at) == (before.ends_at, before.longest_end_at)
    tend(site, HOUR / 2)
    assert present(site) == ()
    assert site.lease(grant).state is LeaseState.running


def test_what_is_kept_and_the_server_that_takes_it_are_never_charged_both(site: Site) -> None:
    reserve(site, profile="one")
    cpu = site.run("sam", "cpu")
    tend(site, 2 * HOUR)
    site.later(60)
    site.stop(cpu)
    grant = site.run("sam")
    # The governor is away before it looks at what is reserved.
    site.later(600)
    site.restart()
    tend(site)
    (line,) = unused(site)
    assert line.end == site.lease(grant).assigned_at
    assert line.seconds == 60


def test_a_server_that_ends_inside_its_time_may_come_back(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    grant = site.run("sam")
    tend(site, 600)
    site.stop(grant)
    tend(site)
    held(site, "sam")
    again = site.run("sam")
    assert site.lease(again).ends_at == START + timedelta(hours=5)
    tend(site, 600)
    assert [line.seconds for line in unused(site)] == [0, 0]


def test_an_idle_server_gives_the_rest_of_the_time_back(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    grant = site.run("sam")
    tend(site, 600)
    why = Reason(code="culled", message="It was idle.")
    site.governor.ask_stop(
        grant.lease_id, cause=Cause.culled, reason=why, actor=GOVERNOR, now=site.now
    )
    site.stop(grant)
    tend(site)
    assert present(site) == ()
    assert lease_of(site, "sam") is None
    assert kinds(site)[-1] == "reservation.released"


def test_who_leaves_the_queue_gives_it_back(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    lease = held(site, "sam")
    site.governor.cancel(lease.id, actor=person("sam").actor, now=site.later(60))
    tend(site)
    assert present(site) == ()
    assert [line.seconds for line in unused(site)] == [60]


def test_somebody_may_have_it_started_for_them(site: Site) -> None:
    reserve(site, when=When.start)
    tend(site, 2 * HOUR)
    (intent,) = site.governor.intents()
    assert (intent.kind, intent.lease_id) == ("start", held(site, "sam").id)
    assert intent.body["choice"] == {
        **held(site, "sam").choice.model_dump(mode="json"),
        "team": "speech",
        "project": None,
    }


def test_calling_it_off_in_its_time_frees_what_is_held_and_lets_a_server_run(site: Site) -> None:
    one, other = reserve(site), reserve(site, user="sue")
    tend(site, 2 * HOUR)
    grant = site.run("sam")
    tend(site, 60)
    for reservation in (one, other):
        site.governor.cancel_reservation(reservation.id, LARS, now=site.now)
    assert site.lease(grant).state is LeaseState.running
    assert lease_of(site, "sue") is None
    assert [line.seconds for line in sorted(unused(site), key=lambda one: one.user)] == [0, 60]


def test_it_follows_an_owner_who_was_renamed(site: Site) -> None:
    reserve(site)
    grant = site.run("sam")
    key = grant.key.model_copy(update={"user": UserName("samuel")})
    assert renaming.follow(site.governor._desk, grant.lease_id, key, now=site.now)
    (one,) = present(site)
    assert one.key.user == "samuel"


def test_devices_that_it_gave_up_are_not_charged(site: Site) -> None:
    reserve(site, profile="two")
    tend(site, 2 * HOUR)
    lease = held(site, "sam")
    site.later(60)
    site.governor.change(
        lease.id, lease.choice, When.start, actor=person("sam").actor, now=site.now
    )
    assert site.now_is(lease).state is LeaseState.queued
    gone = frozenset(x.id for x in site.governor.devices(now=site.now) if x.pool == "whole")
    site.report_devices(without=gone)
    tend(site)
    tend(site, 300)
    assert [line.seconds for line in unused(site)] == [60]
    site.report_devices()
    tend(site)
    assert held(site, "sam").when is When.start
    tend(site, 900)
    assert lease_of(site, "sam") is None
    assert [line.seconds for line in unused(site)] == [60, 900]


# Restarts and clocks


def test_a_restart_between_opening_and_claiming_changes_nothing(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    before = held(site, "sam")
    site.restart()
    tend(site, 60)
    assert held(site, "sam") == before
    grant = site.run("sam")
    assert grant.lease_id == before.id
    site.restart()
    tend(site, 60)
    assert [line.seconds for line in unused(site)] == [60]
    assert kinds(site).count("reservation.opened") == 1


def test_a_governor_that_was_away_the_whole_time_charges_nothing(site: Site) -> None:
    reserve(site)
    tend(site, 6 * HOUR)
    assert present(site) == ()
    assert unused(site) == []
    with site.ledger.transaction() as tx:
        (ended,) = tx.reservations_ended(10)
    assert ended.ended is not None
    assert ended.ended.code == "missed"


def test_a_governor_that_was_away_at_the_start_opens_it_late(site: Site) -> None:
    reserve(site)
    site.later(4 * HOUR)
    site.report_devices()
    tend(site)
    assert held(site, "sam").reserved_until == START + timedelta(hours=5)
    tend(site, 900)
    assert [line.seconds for line in unused(site)] == [900]


def test_a_time_that_a_wrong_clock_began_begins_again_when_it_is_due(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    held(site, "sam")
    tend(site, -HOUR)
    assert lease_of(site, "sam") is None
    assert [line.seconds for line in unused(site)] == [0]
    tend(site, HOUR)
    held(site, "sam")
    tend(site, 900)
    assert [line.seconds for line in unused(site)] == [0, 900]
    assert present(site) == ()


def test_a_clock_that_is_set_right_by_seconds_takes_nothing_away(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    before = held(site, "sam")
    tend(site, -30)
    assert held(site, "sam") == before
    grant = site.run("sam")
    tend(site)
    assert site.lease(grant).id == before.id
    assert [line.seconds for line in unused(site)] == [0]


def test_the_end_of_its_time_frees_what_is_still_held(site: Site) -> None:
    reserve(site, length=0.1)
    tend(site, 2 * HOUR)
    held(site, "sam")
    tend(site, 360)
    assert lease_of(site, "sam") is None
    assert [line.seconds for line in unused(site)] == [360]


# Others


def test_a_new_lease_of_others_ends_when_the_reservation_begins(site: Site) -> None:
    reserve(site, after=0.5, profile="two")
    borrowed = site.run("vera")
    ahead = site.run("viktor")
    ends = {site.lease(grant).ends_at for grant in (borrowed, ahead)}
    assert ends == {START + timedelta(hours=1), START + timedelta(minutes=30)}
    with pytest.raises(RefusedError) as caught:
        site.governor.extend(
            ahead.lease_id, seconds=HOUR, actor=person("viktor").actor, now=site.now
        )
    assert "is reserved from 2026-11-30 09:30:00 UTC" in caught.value.message


def test_borrowers_are_drained_with_notice_and_guaranteed_leases_never(site: Site) -> None:
    guaranteed, borrowed = site.run("vera"), site.run("viktor")
    for grant in (guaranteed, borrowed):
        site.governor.extend(grant.lease_id, seconds=HOUR, actor=GOVERNOR, now=site.now)
    assert site.lease(borrowed).standing is Standing.borrowed
    reserve(site, after=1, profile="two")
    culler = Culler()
    tend(site, 44 * 60 - 1)
    site.report_devices()
    culler.look(site.governor, borrowed.lease_id, site.now)
    assert site.lease(borrowed).notice is None
    tend(site, 60)
    for grant in (guaranteed, borrowed):
        culler.look(site.governor, grant.lease_id, site.now)
    assert site.lease(guaranteed).notice is None
    notice = site.lease(borrowed).notice
    assert notice is not None
    assert (notice.cause, notice.reason.code) == (Cause.preempted, "reserved")
    assert notice.stops_at >= site.now + timedelta(minutes=15)
    assert "sam" not in notice.reason.message
    site.restart()
    Culler().look(site.governor, borrowed.lease_id, site.now)
    assert site.lease(borrowed).notice == notice, "nobody has looked yet, and it stands"
    site.governor.tend_reservations(now=site.now)
    site.later(notice.stops_at.timestamp() - site.now.timestamp())
    tend(site)
    culler.look(site.governor, borrowed.lease_id, site.now)
    assert site.lease(borrowed).state is LeaseState.stopping
    site.stop(borrowed)
    tend(site)
    assert len(held(site, "sam").devices) == 2
    assert site.lease(guaranteed).state is LeaseState.running


def test_a_notice_is_taken_back_when_the_reservation_is_called_off(site: Site) -> None:
    for grant in (site.run("vera"), borrowed := site.run("viktor")):
        site.governor.extend(grant.lease_id, seconds=HOUR, actor=GOVERNOR, now=site.now)
    one = reserve(site, after=1, profile="two")
    culler = Culler()
    tend(site, 50 * 60)
    site.report_devices()
    tend(site)
    culler.look(site.governor, borrowed.lease_id, site.now)
    assert site.lease(borrowed).state is LeaseState.noticed
    site.governor.cancel_reservation(one.id, LARS, now=site.now)
    tend(site)
    culler.look(site.governor, borrowed.lease_id, site.now)
    assert site.lease(borrowed).state is LeaseState.running


def test_where_no_device_is_in_service_nothing_is_charged_until_one_is(site: Site) -> None:
    reserve(site, profile="two")
    gone = frozenset(
        device.id
        for device in site.governor.devices(now=site.now)
        if device.pool == "whole" and device.gpu > 0
    )
    site.report_devices(without=gone)
    tend(site, 2 * HOUR)
    assert lease_of(site, "sam") is None
    (one,) = present(site)
    assert one.current is not None
    assert one.current.reason is not None
    tend(site, HOUR)
    site.report_devices()
    tend(site)
    held(site, "sam")
    assert unused(site) == []


def test_a_policy_that_no_longer_has_the_profile_calls_it_off(site: Site) -> None:
    reserve(site, profile="two")
    less = RULES[: RULES.index("  two:")] + RULES[RULES.index("prices:") :]
    site.governor.set_policy(loads(less), now=site.now)
    tend(site, 2 * HOUR)
    assert present(site) == ()
    assert kinds(site)[-1] == "reservation.cancelled"


def test_a_lost_process_inside_the_time_keeps_the_rest_of_it(site: Site) -> None:
    reserve(site)
    tend(site, 2 * HOUR)
    grant = site.run("sam")
    process = site.lease(grant).process
    assert process is not None
    site.machine.end(process)
    site.governor.seen(grant.lease_id, Liveness.gone, now=site.later(300))
    tend(site)
    held(site, "sam")
