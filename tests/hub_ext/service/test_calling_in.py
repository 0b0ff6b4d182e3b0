"""A borrowed server is called in: told, looked at again, taken back or stopped; and asked anew."""

from datetime import timedelta

import pytest

from hub_ext.admission.calling import plan
from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    Cause,
    Event,
    Grant,
    LeaseState,
    Liveness,
    Notice,
    OpenLease,
    Reason,
    Standing,
    When,
)
from hub_ext.lease.why import Holder
from hub_ext.policy.load import Loaded, loads
from hub_ext.service.leasing.timeline import what_happened
from hub_ext.service.leasing.why import about
from hub_ext.service.queueing.calling_in import WOULD_CALL
from hub_ext.service.reclaim.stops import STOP
from tests.support.governing import POLICY, Site

NOTICE_S, SAFE_S = 900, 1800


def full(site: Site) -> Grant:
    """Let vision borrow one of the two GPUs that are speech's, and speech use the other."""
    site.run("vera")
    borrowed = site.run("viktor")
    site.run("sam")
    assert site.lease(borrowed).standing is Standing.borrowed
    return borrowed


def quota_in(mode: str) -> Loaded:
    return loads(POLICY.replace("quota: enforce", f"quota: {mode}"))


def review(site: Site) -> int:
    return site.governor.review_calls(now=site.now)


def events(site: Site, lease: OpenLease, *kinds: str) -> list[Event]:
    with site.ledger.transaction() as tx:
        return [event for _seq, event in tx.events(lease_id=lease.id, kinds=kinds or None)]


def why_of(site: Site, lease: OpenLease) -> list[Holder]:
    """Who holds what a request wants, of those that are not simply inside their guarantee."""
    (found,) = site.governor.why(about(lease.id), lambda _one: True, now=site.now).found
    return [one for one in found.holders if one.code != "guaranteed"]


def called_in(site: Site) -> tuple[Grant, OpenLease]:
    """Let it come as far as the notice."""
    borrowed = full(site)
    owner = site.waits("sue")
    site.later(SAFE_S)
    assert review(site) == 1
    return borrowed, owner


def test_nobody_is_called_in_before_the_minimum_is_over(site: Site) -> None:
    borrowed = full(site)
    site.waits("sue")
    site.later(SAFE_S - 1)
    assert review(site) == 0
    assert site.lease(borrowed).notice is None


def test_a_call_is_an_event_with_its_evidence_and_a_notice_with_its_end(site: Site) -> None:
    borrowed, owner = called_in(site)
    lease = site.lease(borrowed)
    assert lease.state is LeaseState.noticed
    assert lease.notice is not None
    assert lease.notice.cause is Cause.preempted
    assert lease.notice.stops_at == site.now + timedelta(seconds=NOTICE_S)
    assert "another team's guarantee" in lease.notice.reason.message
    assert "speech" not in lease.notice.reason.message
    assert lease.called_in is not None
    assert lease.called_in.for_lease == owner.id
    assert (lease.priority, site.now_is(owner).caller_since) == (0, site.now)
    (given,) = events(site, lease, "notice.given")
    call = given.body["call"]
    assert isinstance(call, dict)
    assert (call["for"], call["team"]) == (owner.id, "speech")


def test_looking_again_says_nothing_twice(site: Site) -> None:
    borrowed, _owner = called_in(site)
    for _time in range(3):
        site.later(30)
        review(site)
        site.serve()
    assert len(events(site, site.lease(borrowed), "notice.given")) == 1


def test_when_the_notice_is_over_it_is_stopped_and_the_owner_gets_the_room(site: Site) -> None:
    borrowed, owner = called_in(site)
    site.later(NOTICE_S)
    review(site)
    lease = site.lease(borrowed)
    assert lease.state is LeaseState.stopping
    assert (lease.cause, lease.reason and lease.reason.code) == (Cause.preempted, "preempted")
    assert [one.kind for one in site.governor.intents()] == [STOP]
    site.stop(borrowed)
    site.serve()
    held = site.now_is(owner)
    assert held.state is LeaseState.held
    assert held.standing is Standing.guaranteed
    assert held.devices == lease.devices


def test_what_is_not_needed_any_more_is_taken_back_and_said(site: Site) -> None:
    borrowed, owner = called_in(site)
    site.governor.cancel(owner.id, actor=GOVERNOR, now=site.now)
    site.later(5)
    assert review(site) == 0
    lease = site.lease(borrowed)
    assert (lease.state, lease.notice, lease.called_in) == (LeaseState.running, None, None)
    assert lease.priority == 2000 + lease.weight
    (withdrawn,) = events(site, lease, "notice.withdrawn")
    reason = withdrawn.body["reason"]
    assert isinstance(reason, dict)
    assert reason["code"] == "not-needed"


def test_a_stop_that_is_due_is_looked_at_once_more(site: Site) -> None:
    borrowed, owner = called_in(site)
    site.later(NOTICE_S)
    site.governor.cancel(owner.id, actor=GOVERNOR, now=site.now)
    review(site)
    assert site.lease(borrowed).state is LeaseState.running
    assert site.governor.intents() == ()


def test_a_device_that_comes_free_otherwise_spares_the_borrower(site: Site) -> None:
    borrowed, owner = called_in(site)
    sam = next(one for one in site.governor.leases(user="sam"))
    assert sam.grant is not None
    site.stop(sam.grant)
    site.serve()
    review(site)
    assert site.now_is(owner).state is LeaseState.held
    assert site.lease(borrowed).called_in is None


def test_two_owners_share_one_call_and_the_second_needs_it_still(site: Site) -> None:
    borrowed, first = called_in(site)
    second = site.waits("sam", server="more")
    site.governor.cancel(first.id, actor=GOVERNOR, now=site.now)
    site.later(60)
    assert review(site) == 1
    lease = site.lease(borrowed)
    assert lease.called_in is not None
    assert lease.called_in.for_lease == second.id
    assert lease.called_in.since == site.now - timedelta(seconds=60)


def test_a_restart_between_any_two_steps_changes_nothing(site: Site) -> None:
    borrowed = full(site)
    owner = site.waits("sue")
    site.restart()
    site.later(SAFE_S)
    review(site)
    stops_at = site.lease(borrowed).notice
    site.restart()
    site.later(NOTICE_S - 1)
    review(site)
    assert site.lease(borrowed).notice == stops_at
    site.later(1)
    site.restart()
    review(site)
    assert site.lease(borrowed).state is LeaseState.stopping
    site.restart()
    assert [one.kind for one in site.governor.intents()] == [STOP]
    site.stop(borrowed)
    site.restart()
    site.serve()
    assert site.now_is(owner).state is LeaseState.held


def test_an_earlier_stop_stands_in_front_and_the_call_comes_back_behind_it(site: Site) -> None:
    borrowed, _owner = called_in(site)
    idle = Notice(
        cause=Cause.culled,
        given_at=site.now,
        stops_at=site.now + timedelta(seconds=300),
        reason=Reason(code="idle", message="Idle."),
    )
    site.governor.give_notice(borrowed.lease_id, idle, evidence=None, now=site.now)
    review(site)
    assert site.lease(borrowed).notice == idle
    busy = Reason(code="not-idle", message="Busy.")
    site.governor.withdraw_notice(borrowed.lease_id, busy, now=site.later(10))
    review(site)
    shown = site.lease(borrowed).notice
    assert shown is not None
    assert shown.cause is Cause.preempted
    assert shown.stops_at == site.now + timedelta(seconds=NOTICE_S - 10)


def test_what_becomes_guaranteed_is_not_taken_any_more(site: Site) -> None:
    borrowed, _owner = called_in(site)
    vera = next(one for one in site.governor.leases(user="vera"))
    assert vera.grant is not None
    site.stop(vera.grant)
    review(site)
    lease = site.lease(borrowed)
    assert lease.standing is Standing.guaranteed
    assert (lease.called_in, lease.notice) == (None, None)


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_where_quota_is_not_enforced_it_is_only_recorded(site: Site, mode: str) -> None:
    borrowed = full(site)
    site.waits("sue")
    site.governor.set_policy(quota_in(mode), now=site.now)
    site.later(SAFE_S)
    for _time in range(3):
        assert review(site) == 0
    lease = site.lease(borrowed)
    assert lease.notice is None
    (would,) = events(site, lease, WOULD_CALL)
    assert would.body["team"] == "vision"
    assert "it would be called in now" in what_happened(would, "UTC", "EUR")


def test_a_mode_that_changes_takes_the_calls_back(site: Site) -> None:
    borrowed, _owner = called_in(site)
    site.governor.set_policy(quota_in("observe"), now=site.now)
    review(site)
    assert site.lease(borrowed).called_in is None


def test_a_clock_that_is_set_back_makes_a_notice_no_longer(site: Site) -> None:
    borrowed, _owner = called_in(site)
    site.later(-3600)
    review(site)
    lease = site.lease(borrowed)
    assert lease.notice is not None
    assert lease.notice.stops_at == site.now + timedelta(seconds=NOTICE_S)


def test_who_was_stopped_does_not_stop_the_one_who_came(site: Site) -> None:
    borrowed, owner = called_in(site)
    site.later(NOTICE_S)
    review(site)
    site.stop(borrowed)
    site.serve()
    came = site.ask(site.asking("sue"))
    site.started(came)
    assert came.lease_id == owner.id
    back = site.waits("viktor")
    for _hour in range(8):
        site.later(3600)
        assert review(site) == 0
    assert site.lease(came).notice is None
    assert site.now_is(back).state is LeaseState.queued


def test_a_stop_whose_proof_does_not_come_keeps_the_device(site: Site) -> None:
    borrowed, owner = called_in(site)
    site.later(NOTICE_S)
    review(site)
    site.ended(borrowed, Liveness.alive)
    site.serve()
    review(site)
    assert site.now_is(owner).state is LeaseState.queued
    assert site.now_is(owner).caller_since is not None
    with pytest.raises(RefusedError):
        site.ask(site.asking("viktor", former=Liveness.alive))


def test_a_plan_that_was_overtaken_is_not_carried_out(site: Site) -> None:
    borrowed = full(site)
    owner = site.waits("sue")
    site.later(SAFE_S)
    sight = site.governor.look_at_calls(now=site.now)
    assert sight is not None
    planned = plan(sight.snapshot)
    site.governor.cancel(owner.id, actor=GOVERNOR, now=site.now)
    assert not site.governor.settle_calls(sight, planned, now=site.now)
    assert site.lease(borrowed).notice is None


def test_where_nothing_has_changed_nothing_is_planned_until_time_may_have_changed_it(
    site: Site,
) -> None:
    assert site.governor.look_at_calls(now=site.now) is None
    borrowed = full(site)
    site.waits("sue")
    site.later(SAFE_S)
    sight = site.governor.look_at_calls(now=site.now)
    assert sight is not None
    assert site.governor.settle_calls(sight, plan(sight.snapshot), now=site.now)
    assert site.lease(borrowed).called_in is not None
    assert site.governor.look_at_calls(now=site.later(1)) is None
    assert site.governor.look_at_calls(now=site.later(5)) is not None
    assert site.governor.look_at_calls(now=site.later(-60)) is not None


def held_for_a_borrower(site: Site) -> tuple[OpenLease, OpenLease]:
    """Let a device be held for vision on speech's quota, and then speech ask for it."""
    site.run("vera")
    site.run("sam")
    leaves = site.run("sue")
    waits = site.waits("viktor")
    site.stop(leaves)
    site.serve()
    held = site.now_is(waits)
    assert (held.state, held.standing) == (LeaseState.held, Standing.borrowed)
    assert held.reason is not None
    assert "back at your place" in held.reason.message
    return waits, site.waits("sue")


def test_what_is_only_held_for_a_borrower_goes_back_at_once_and_costs_nobody_work(
    site: Site,
) -> None:
    borrower, owner = held_for_a_borrower(site)
    assert sorted(one.code for one in why_of(site, owner)) == ["held", "same-team"]
    assert review(site) == 0
    back = site.now_is(borrower)
    assert (back.state, back.devices, back.holds) == (LeaseState.queued, (), 0)
    assert back.requested_at == borrower.requested_at
    assert back.reason is not None
    assert back.reason.code == "hold-given-up"
    assert site.governor.intents() == ()
    assert site.now_is(owner).caller_since == site.now

    site.serve()
    assert site.now_is(owner).state is LeaseState.held
    came = site.ask(site.asking("sue"))
    site.started(came)
    review(site)
    assert site.lease(came).notice is None
    assert site.now_is(borrower).state is LeaseState.queued
    site.stop(came)
    site.serve()
    assert site.now_is(borrower).state is LeaseState.held


def test_a_hold_is_kept_where_quota_is_not_enforced(site: Site) -> None:
    borrower, _owner = held_for_a_borrower(site)
    site.governor.set_policy(quota_in("advise"), now=site.now)
    review(site)
    assert site.now_is(borrower).state is LeaseState.held


def test_who_comes_for_a_hold_that_was_given_up_hears_of_the_place(site: Site) -> None:
    borrower, _owner = held_for_a_borrower(site)
    review(site)
    with pytest.raises(RefusedError) as refusal:
        site.ask(site.asking("viktor", when=When.start))
    assert refusal.value.code == "queued"
    assert site.now_is(borrower).requested_at == borrower.requested_at
