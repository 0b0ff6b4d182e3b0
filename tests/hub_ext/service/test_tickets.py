"""A request that waits: how it joins, keeps its place, is claimed, and what others see of it."""

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Actor,
    Cause,
    Choice,
    Grant,
    LeaseState,
    Liveness,
    OpenLease,
    ProfileName,
    Report,
    ReportKind,
    Standing,
    When,
)
from hub_ext.policy.load import loads
from tests.support.governing import POLICY, Site

SUE = Actor(kind="user", name="sue")


def refused(site: Site, user: str, profile: str = "one", **how: object) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        site.ask(site.asking(user, profile, **how))  # type: ignore[arg-type]
    assert caught.value.status < 500
    return caught.value


def full(site: Site) -> Grant:
    """Both GPUs of speech are taken, so that sue has to wait for one."""
    grant = site.run("sam", "two")
    site.later(60)
    return grant


def test_who_lets_it_wait_hears_the_place_the_reason_and_what_comes(site: Site) -> None:
    full(site)
    refusal = refused(site, "sue", when=When.start)
    assert (refusal.code, refusal.status) == ("queued", 409)
    assert refusal.figures["position"] == 1
    assert refusal.figures["why"] == "guarantee-used"
    assert refusal.figures["short_units"] == 840
    assert "number 1 for pool whole" in refusal.message
    assert "starts by itself" in refusal.message
    assert "Ask again later" not in refusal.message
    (lease,) = [one for one in site.governor.leases() if one.key.user == "sue"]
    assert (lease.state, lease.when, lease.groups) == (
        LeaseState.queued,
        When.start,
        ("speech",),
    )
    assert lease.devices == ()


def test_who_does_not_let_it_wait_is_refused_as_ever(site: Site) -> None:
    full(site)
    assert refused(site, "sue").code == "would-queue"
    assert [one.key.user for one in site.governor.leases()] == ["sam"]


def test_what_can_start_does_not_wait(site: Site) -> None:
    grant = site.ask(site.asking("sue", when=When.start))
    assert site.lease(grant).state is LeaseState.starting


def test_what_can_never_be_does_not_wait(site: Site) -> None:
    assert refused(site, "vera", "two", team="speech", when=When.start).status == 403
    assert site.governor.leases() == ()


def test_asking_again_keeps_the_place_and_is_answered_queued_again(site: Site) -> None:
    full(site)
    first = site.waits("sue")
    site.later(30)
    second = site.waits("sue", server="other")
    site.later(30)
    again = refused(site, "sue", when=When.hold)
    assert (again.code, again.figures["position"]) == ("queued", 1)
    assert refused(site, "sue", server="other").figures["position"] == 2
    kept = site.now_is(first)
    assert (kept.id, kept.requested_at, kept.when) == (first.id, first.requested_at, When.hold)
    assert site.now_is(second).when is When.start


def test_a_repeated_ask_of_the_same_attempt_hears_the_same(site: Site) -> None:
    full(site)
    asked = site.asking("sue", when=When.start)
    messages = set()
    for _time in range(2):
        with pytest.raises(RefusedError) as caught:
            site.ask(asked)
        messages.add(caught.value.message)
    assert len(messages) == 1


def test_an_answer_that_was_lost_leaves_nobody_waiting_unknown(site: Site) -> None:
    full(site)
    asked = site.asking("sue", when=When.start)
    with pytest.raises(RefusedError):
        site.ask(asked)
    told = Report(kind=ReportKind.ended, key=asked.key, liveness=Liveness.gone, refused=True)
    site.governor.report(asked.attempt_id, told, now=site.now)
    ended = site.governor.view(asked.key, now=site.now).ended
    assert ended is not None
    assert ended.cause is Cause.cancelled


def test_a_larger_choice_takes_a_new_place_and_a_smaller_one_keeps_it(site: Site) -> None:
    full(site)
    large = site.waits("sue", "two")
    site.later(60)
    site.waits("sam", server="late")
    site.later(60)
    smaller = refused(site, "sue", "one", when=When.start)
    assert smaller.figures["position"] == 1
    assert site.now_is(large).cause is Cause.replaced
    site.later(60)
    larger = refused(site, "sue", "two", when=When.start)
    assert larger.figures["position"] == 2


@pytest.mark.parametrize("way", ["at a start", "on the page"])
def test_a_smaller_wish_keeps_the_time_that_it_has_waited(site: Site, way: str) -> None:
    full(site)
    large = site.waits("sue", "two")
    before = site.now_is(large)
    site.later(3600)
    if way == "at a start":
        refused(site, "sue", "one", when=When.start)
    else:
        choice = Choice(profile=ProfileName("one"))
        site.governor.change(large.id, choice, When.hold, actor=SUE, now=site.now)
    (smaller,) = [one for one in site.governor.leases(user="sue") if one.id != large.id]
    assert (smaller.requested_at, smaller.state_since) == (before.requested_at, before.state_since)
    # Whoever waits too long is told from this: `asked_at` is set where a place is older.
    assert smaller.asked_at is None
    site.later(60)
    larger = refused(site, "sue", "two", when=When.start)
    assert larger.figures["position"] == 1
    (anew,) = site.governor.leases(user="sue")
    assert anew.state_since == site.now


def test_a_smaller_wish_is_owed_since_the_larger_one_was(site: Site) -> None:
    site.run("viktor", "two")
    large = site.waits("sue", "two")
    site.serve()
    owed = site.now_is(large).owed_since
    assert owed == site.now
    site.later(60)
    smaller = site.governor.change(
        large.id, Choice(profile=ProfileName("one")), When.hold, actor=SUE, now=site.now
    )
    assert smaller.owed_since == owed


def test_another_profile_that_can_start_ends_the_waiting(site: Site) -> None:
    full(site)
    lease = site.waits("sue")
    grant = site.ask(site.asking("sue", "cpu"))
    assert site.lease(grant).state is LeaseState.starting
    assert site.now_is(lease).cause is Cause.replaced


def test_a_wish_that_cannot_be_changes_nothing(site: Site) -> None:
    full(site)
    lease = site.waits("sue")
    assert refused(site, "sue", "nonsense").status == 400
    assert site.now_is(lease).state is LeaseState.queued


def test_a_device_that_comes_is_held_and_claimed(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue")
    site.later(60)
    site.stop(grant)
    assert site.serve() == 1
    held = site.now_is(lease)
    assert (held.state, held.standing, held.holds) == (LeaseState.held, Standing.guaranteed, 1)
    assert held.held_until is not None
    assert (held.held_until - site.now).total_seconds() == 300
    assert site.held() == [device.id for device in held.devices]
    site.later(10)
    claimed = site.ask(site.asking("sue"))
    assert claimed.lease_id == lease.id
    assert claimed.devices == held.devices
    started = site.now_is(lease)
    assert (started.state, started.held_until) == (LeaseState.starting, None)
    assert started.assigned_at == site.now
    assert started.requested_at == lease.requested_at


def test_nothing_is_charged_for_waiting_and_holding(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue")
    site.stop(grant)
    site.serve()
    site.later(200)
    claimed = site.ask(site.asking("sue"))
    site.started(claimed)
    site.later(10)
    site.stop(claimed)
    with site.ledger.transaction() as tx:
        (line,) = [
            one
            for one in tx.postings(start=lease.requested_at, end=site.later(1))
            if one.lease_id == lease.id
        ]
    assert (line.seconds, line.amount_micro) == (10, 10_000)


def test_a_freed_device_is_not_given_past_those_who_wait(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue", "two")
    site.stop(grant)
    assert refused(site, "sam", server="late").code == "would-queue"
    site.serve()
    assert site.now_is(lease).state is LeaseState.held
    assert len(site.held()) == 2


def test_a_hold_that_runs_out_goes_back_once_and_is_then_closed(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue", when=When.hold)
    site.stop(grant)
    site.serve()
    site.later(299)
    assert site.serve() == 0
    site.later(1)
    assert site.serve() == 1
    again = site.now_is(lease)
    assert (again.holds, again.requested_at) == (2, lease.requested_at)
    site.later(300)
    site.serve()
    ended = site.now_is(lease)
    assert (ended.state, ended.cause) == (LeaseState.closed, Cause.never_used)
    assert ended.reason is not None
    assert "twice" in ended.reason.message
    assert site.held() == []


def test_a_hold_is_kept_although_an_earlier_request_could_use_its_device(site: Site) -> None:
    site.run("sam")
    other = site.run("sue")
    large = site.waits("sam", "two", server="large")
    site.later(10)
    site.governor.set_policy(loads(POLICY), now=site.now)
    small = site.waits("sue", server="small")
    site.stop(other)
    site.serve()
    assert site.now_is(large).state is LeaseState.queued
    assert site.now_is(small).state is LeaseState.held
    grant = site.ask(site.asking("sue", server="small"))
    assert grant.lease_id == small.id


def test_who_leaves_the_team_between_request_and_claim_hears_so(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue")
    site.later(5)
    next_one = site.waits("sam", server="next")
    site.stop(grant)
    site.serve()
    asked = site.asking("sue").model_copy(update={"groups": ("cooking",)})
    with pytest.raises(RefusedError) as caught:
        site.ask(asked)
    assert caught.value.status == 403
    ended = site.now_is(lease)
    assert (ended.state, ended.cause) == (LeaseState.closed, Cause.denied)
    assert ended.reason is not None
    assert ended.reason.message == caught.value.message
    assert site.now_is(next_one).state is LeaseState.held


def test_a_policy_without_the_profile_closes_what_waits_for_it(site: Site) -> None:
    full(site)
    lease = site.waits("sue")
    gone = POLICY.replace("  one:\n", "  single:\n")
    site.governor.set_policy(loads(gone), now=site.now)
    site.serve()
    ended = site.now_is(lease)
    assert (ended.state, ended.cause) == (LeaseState.closed, Cause.denied)
    assert ended.reason is not None
    assert "no profile" in ended.reason.message


def test_a_smaller_guarantee_at_the_claim_puts_the_request_back(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue")
    site.stop(grant)
    site.run("sam")
    site.serve()
    assert site.now_is(lease).state is LeaseState.held
    smaller = POLICY.replace('whole: {nominal: "2"}', 'whole: {nominal: "1"}')
    site.governor.set_policy(loads(smaller), now=site.now)
    assert refused(site, "sue").code == "queued"
    back = site.now_is(lease)
    assert (back.state, back.devices, back.holds) == (LeaseState.queued, (), 1)


def test_cancelling_gives_back_what_was_held(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue")
    site.stop(grant)
    site.serve()
    assert [one.kind for one in site.governor.intents()] == ["start"]
    site.governor.cancel(lease.id, actor=SUE, now=site.now)
    assert site.now_is(lease).cause is Cause.cancelled
    assert site.held() == []
    assert site.governor.intents() == ()


def test_only_what_waits_can_be_cancelled(site: Site) -> None:
    grant = full(site)
    with pytest.raises(RefusedError) as caught:
        site.governor.cancel(grant.lease_id, actor=SUE, now=site.now)
    assert caught.value.code == "not-waiting"


def test_a_person_in_two_teams_waits_in_the_one_they_chose(site: Site) -> None:
    both = ("vision", "speech")
    full(site)
    site.run("vera")
    asked = site.asking("sue", team="speech", when=When.start)
    with pytest.raises(RefusedError):
        site.ask(asked.model_copy(update={"groups": both}))
    lease = only_waiting(site)
    assert lease.team == "speech"
    other = site.asking("sue", team="vision", when=When.start)
    with pytest.raises(RefusedError):
        site.ask(other.model_copy(update={"groups": both}))
    assert site.now_is(lease).cause is Cause.replaced
    assert only_waiting(site).team == "vision"


def test_the_queue_survives_a_restart(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue")
    site.restart()
    assert site.now_is(lease) == lease
    site.stop(grant)
    site.serve()
    held = site.now_is(lease)
    site.restart()
    assert site.now_is(lease) == held
    assert [one.kind for one in site.governor.intents()] == ["start"]


def test_a_page_lets_people_wait_for_something_smaller_or_be_told_otherwise(site: Site) -> None:
    full(site)
    large = site.waits("sue", "two")
    site.later(60)
    site.waits("sam", server="late")
    smaller = site.governor.change(
        large.id, Choice(profile=ProfileName("one")), When.hold, actor=SUE, now=site.now
    )
    assert (smaller.requested_at, smaller.when) == (large.requested_at, When.hold)
    same = site.governor.change(smaller.id, smaller.choice, When.start, actor=SUE, now=site.now)
    assert (same.id, same.when) == (smaller.id, When.start)
    with pytest.raises(RefusedError):
        site.governor.change(
            same.id, Choice(profile=ProfileName("cpu")), When.start, actor=SUE, now=site.now
        )
    assert site.now_is(same) == same


def test_who_wants_it_started_after_all_loses_no_hold(site: Site) -> None:
    grant = full(site)
    lease = site.waits("sue", when=When.hold)
    site.stop(grant)
    site.serve()
    assert site.governor.intents() == ()
    site.governor.change(lease.id, lease.choice, When.start, actor=SUE, now=site.now)
    site.serve()
    assert (site.now_is(lease).state, site.now_is(lease).holds) == (LeaseState.held, 1)
    assert [one.kind for one in site.governor.intents()] == ["start"]


def only_waiting(site: Site) -> OpenLease:
    (lease,) = [one for one in site.governor.leases() if one.state is LeaseState.queued]
    return lease
