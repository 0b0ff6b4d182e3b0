"""Announced and asked stops, and what a person may do against them."""

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    Actor,
    Cause,
    Grant,
    LeaseId,
    LeaseState,
    Liveness,
    Notice,
    Reason,
    Verdict,
    VerdictState,
)
from tests.support.governing import Site

VERA = Actor(kind="user", name="vera")
WHY = Reason(code="idle", message="It is idle.")


def announce(site: Site, grant: Grant, cause: Cause, after_s: int) -> None:
    now = site.now
    site.later(after_s)
    notice = Notice(cause=cause, given_at=now, stops_at=site.now, reason=WHY)
    site.now = now
    evidence = Verdict(state=VerdictState.idle, rule="gpus", at=now, quiet_since=now, limit_s=600)
    site.governor.give_notice(grant.lease_id, notice, evidence=evidence, now=now)


def kinds(site: Site, grant: Grant) -> list[str]:
    with site.ledger.transaction() as tx:
        return [event.kind for _seq, event in tx.events(lease_id=grant.lease_id)]


def test_a_stop_is_an_intent_until_the_server_is_proved_gone(site: Site) -> None:
    grant = site.run("vera")
    site.governor.ask_stop(grant.lease_id, cause=Cause.user, reason=WHY, actor=VERA, now=site.now)
    (intent,) = site.governor.intents()
    assert (intent.kind, intent.lease_id) == ("stop", grant.lease_id)
    assert site.lease(grant).state is LeaseState.stopping
    site.governor.retried(intent.id, now=site.later(1))
    site.restart()
    assert [one.tries for one in site.governor.intents()] == [1]
    site.stop(grant)
    assert site.governor.intents() == ()
    assert site.lease(grant).cause is Cause.user


def test_a_second_stop_keeps_the_first_cause(site: Site) -> None:
    grant = site.run("vera")
    for cause in (Cause.expired, Cause.admin):
        site.governor.ask_stop(
            grant.lease_id, cause=cause, reason=WHY, actor=GOVERNOR, now=site.now
        )
    assert site.lease(grant).cause is Cause.expired
    assert len(site.governor.intents()) == 1


def test_a_notice_comes_with_its_evidence_and_can_be_taken_back(site: Site) -> None:
    grant = site.run("vera")
    announce(site, grant, Cause.culled, 300)
    assert site.lease(grant).state is LeaseState.noticed
    site.governor.withdraw_notice(grant.lease_id, WHY, now=site.later(60))
    lease = site.lease(grant)
    assert (lease.state, lease.notice) == (LeaseState.running, None)
    with site.ledger.transaction() as tx:
        events = {event.kind: event for _seq, event in tx.events(lease_id=grant.lease_id)}
    assert events["notice.given"].body["evidence"]
    assert "notice.withdrawn" in events


def test_of_two_notices_the_earlier_stop_stands(site: Site) -> None:
    grant = site.run("vera")
    announce(site, grant, Cause.expired, 600)
    announce(site, grant, Cause.culled, 300)
    announce(site, grant, Cause.expired, 500)
    notice = site.lease(grant).notice
    assert notice is not None
    assert notice.cause is Cause.culled
    assert kinds(site, grant).count("notice.given") == 2


def test_an_extension_moves_the_end_and_takes_back_the_end_of_life(site: Site) -> None:
    grant = site.run("vera")
    announce(site, grant, Cause.expired, 600)
    before = site.lease(grant).ends_at
    assert before is not None
    site.governor.extend(grant.lease_id, seconds=1800, actor=VERA, now=site.later(5))
    lease = site.lease(grant)
    assert lease.ends_at is not None
    assert (lease.ends_at - before).total_seconds() == 1800
    assert (lease.state, lease.notice) == (LeaseState.running, None)


def test_an_extension_leaves_an_idle_notice_standing(site: Site) -> None:
    grant = site.run("vera")
    announce(site, grant, Cause.culled, 600)
    site.governor.extend(grant.lease_id, seconds=60, actor=VERA, now=site.later(5))
    assert site.lease(grant).state is LeaseState.noticed


def test_nobody_extends_past_the_longest_life_agreed_at_the_start(site: Site) -> None:
    grant = site.run("vera")
    with pytest.raises(RefusedError, match="at most 1h") as caught:
        site.governor.extend(grant.lease_id, seconds=3601, actor=VERA, now=site.now)
    assert caught.value.figures["extend_max_s"] == 3600
    site.governor.extend(grant.lease_id, seconds=3600, actor=VERA, now=site.now)
    with pytest.raises(RefusedError, match="longest life"):
        site.governor.extend(grant.lease_id, seconds=1, actor=VERA, now=site.now)


def test_keeping_takes_back_an_idle_notice_for_as_long_as_the_policy_says(site: Site) -> None:
    grant = site.run("vera")
    announce(site, grant, Cause.culled, 300)
    site.governor.keep(grant.lease_id, actor=VERA, now=site.later(5))
    lease = site.lease(grant)
    assert (lease.state, lease.notice) == (LeaseState.running, None)
    assert lease.kept_until is not None
    assert (lease.kept_until - site.now).total_seconds() == 1800


def test_what_no_idle_rule_watches_cannot_be_kept(site: Site) -> None:
    grant = site.run("vera", "cpu")
    with pytest.raises(RefusedError) as caught:
        site.governor.keep(grant.lease_id, actor=VERA, now=site.now)
    assert caught.value.code == "no-idle-rule"


def test_nothing_is_added_to_a_lease_that_ends(site: Site) -> None:
    grant = site.run("vera")
    site.ended(grant, Liveness.alive)
    announce(site, grant, Cause.culled, 300)
    assert site.lease(grant).notice is None
    with pytest.raises(RefusedError) as longer:
        site.governor.extend(grant.lease_id, seconds=1, actor=VERA, now=site.now)
    with pytest.raises(RefusedError) as kept:
        site.governor.keep(grant.lease_id, actor=VERA, now=site.now)
    assert (longer.value.code, kept.value.code) == ("lease-over", "lease-over")


def test_acts_on_a_lease_that_never_was_are_refused(site: Site) -> None:
    with pytest.raises(RefusedError) as caught:
        site.governor.extend(LeaseId("l-none"), seconds=1, actor=VERA, now=site.now)
    assert caught.value.status == 404
