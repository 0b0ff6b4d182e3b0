"""Another profile for a server that runs: new capacity first, one stop, one start, nothing lost."""

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    GOVERNOR,
    Actor,
    Cause,
    Choice,
    Grant,
    LeaseState,
    LeaseView,
    OpenLease,
    ProfileName,
    Standing,
    When,
)
from hub_ext.ledger.places import place
from hub_ext.ledger.verify import examine
from hub_ext.policy.catalogue import Person
from hub_ext.service.leasing.changing import sheet
from hub_ext.service.queueing.tickets import START
from hub_ext.service.reclaim.stops import STOP
from tests.support.governing import GROUPS, Site

NOTICE_S = 30


def switch(site: Site, grant: Grant, profile: str) -> OpenLease:
    user = grant.key.user
    return site.governor.switch(
        grant.lease_id,
        Choice(profile=ProfileName(profile)),
        groups=GROUPS[user],
        actor=Actor(kind="user", name=user),
        now=site.now,
    )


def intents(site: Site) -> list[str]:
    return [one.kind for one in site.governor.intents()]


def seen(site: Site, grant: Grant) -> LeaseView:
    return site.governor.view(grant.key, now=site.now)


def charged(site: Site) -> list[str]:
    return [one.id for one in site.governor.leases() if one.assigned_at is not None]


def test_new_capacity_is_held_before_the_old_lease_ends(site: Site) -> None:
    old = site.run("vera", "small")
    fresh = switch(site, old, "one")
    assert (fresh.state, fresh.replaces) == (LeaseState.queued, old.lease_id)
    site.serve()
    held = site.now_is(fresh)
    assert held.state is LeaseState.held
    assert len(held.devices) == 1
    told = site.lease(old).notice
    assert told is not None
    assert (told.cause, intents(site)) == (Cause.replaced, [])
    assert charged(site) == [old.lease_id]

    site.later(NOTICE_S)
    site.serve()
    assert (site.lease(old).state, site.lease(old).cause) == (LeaseState.stopping, Cause.replaced)
    assert intents(site) == [STOP]
    site.stop(old)
    assert intents(site) == [START]
    assert charged(site) == []
    came = site.ask(site.asking("vera", "one"))
    assert (came.lease_id, came.key) == (fresh.id, old.key)
    assert site.lease(old).cause is Cause.replaced


def test_where_only_its_own_devices_are_enough_they_change_hands_at_once(site: Site) -> None:
    old = site.run("sam", "two")
    site.run("vera")
    fresh = switch(site, old, "one")
    later = site.waits("sue")
    site.serve()
    assert site.now_is(fresh).state is LeaseState.queued
    assert site.lease(old).notice is not None
    site.later(NOTICE_S)
    site.serve()
    site.stop(old)
    held = site.now_is(fresh)
    assert held.state is LeaseState.held
    assert set(held.devices) < set(old.devices)
    assert site.now_is(later).state is LeaseState.queued


def test_what_cannot_be_had_waits_and_the_old_server_runs_on(site: Site) -> None:
    old = site.run("sam", "one")
    site.run("vera")
    site.run("viktor")
    fresh = switch(site, old, "two")
    for _minute in range(5):
        site.later(60)
        site.serve()
    assert site.now_is(fresh).state is LeaseState.queued
    assert (site.lease(old).state, site.lease(old).notice) == (LeaseState.running, None)
    assert intents(site) == []


def test_a_change_that_is_left_takes_the_notice_back(site: Site) -> None:
    old = site.run("vera", "small")
    fresh = switch(site, old, "one")
    site.serve()
    actor = Actor(kind="user", name="vera")
    site.governor.cancel(fresh.id, actor=actor, now=site.now)
    site.serve()
    assert (site.lease(old).state, site.lease(old).notice) == (LeaseState.running, None)
    site.later(NOTICE_S)
    site.serve()
    assert site.lease(old).state is LeaseState.running


def test_who_stops_the_server_meanwhile_starts_no_other(site: Site) -> None:
    old = site.run("sam", "one")
    site.run("vera")
    site.run("viktor")
    fresh = switch(site, old, "two")
    site.stop(old)
    site.serve()
    assert site.now_is(fresh).cause is Cause.cancelled
    assert intents(site) == []


def test_a_server_that_is_lost_meanwhile_leaves_the_request_like_any_other(site: Site) -> None:
    old = site.run("vera", "small")
    fresh = switch(site, old, "one")
    process = site.lease(old).process
    assert process is not None
    site.machine.end(process)
    site.governor.close_lost(old.lease_id, now=site.now)
    site.serve()
    held = site.now_is(fresh)
    assert (held.state, held.replaces) == (LeaseState.held, None)
    assert intents(site) == [START]


def test_a_restart_between_any_two_steps_changes_nothing(site: Site) -> None:
    old = site.run("vera", "small")
    fresh = switch(site, old, "one")
    site.restart()
    site.serve()
    site.restart()
    site.later(NOTICE_S)
    site.serve()
    site.restart()
    site.stop(old)
    site.restart()
    assert intents(site) == [START]
    came = site.ask(site.asking("vera", "one"))
    assert came.lease_id == fresh.id


def test_to_no_gpu_and_back(site: Site) -> None:
    old = site.run("sam", "one")
    switch(site, old, "cpu")
    site.serve()
    site.later(NOTICE_S)
    site.serve()
    site.stop(old)
    plain = site.ask(site.asking("sam", "cpu"))
    site.started(plain)
    assert plain.standing is Standing.unmetered
    switch(site, plain, "one")
    site.serve()
    site.later(NOTICE_S)
    site.serve()
    site.stop(plain)
    assert site.ask(site.asking("sam", "one")).standing is Standing.guaranteed


def test_a_hold_does_not_run_out_while_the_old_server_ends(site: Site) -> None:
    old = site.run("vera", "small")
    fresh = switch(site, old, "one")
    site.serve()
    site.later(NOTICE_S)
    site.serve()
    site.later(3600)
    site.serve()
    assert site.now_is(fresh).state is LeaseState.held


@pytest.mark.parametrize(("profile", "code"), [("one", "same-profile"), ("small", "pool-not-for")])
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    site: Site, profile: str, code: str
) -> None:
    old = site.run("sam", "one")
    with pytest.raises(RefusedError) as refusal:
        switch(site, old, profile)
    assert refusal.value.code == code or refusal.value.status in {400, 403}
    assert site.lease(old).state is LeaseState.running


def test_a_server_is_not_stopped_for_what_it_has(site: Site) -> None:
    old = site.run("sam", "one")
    fresh = switch(site, old, "two")
    with pytest.raises(RefusedError) as refusal:
        site.governor.change(
            fresh.id,
            Choice(profile=site.lease(old).profile),
            When.start,
            actor=GOVERNOR,
            now=site.now,
        )
    assert refusal.value.code == "same-profile"
    site.serve()
    assert site.now_is(fresh).profile == "two"


def test_people_see_how_far_a_change_is_and_hear_of_each_step(site: Site) -> None:
    old = site.run("sam", "one")
    site.run("vera")
    blocks = site.run("viktor")
    before = seen(site, old).seq
    fresh = switch(site, old, "two")
    waits = seen(site, old)
    assert waits.seq > before
    assert waits.change is not None
    assert (waits.change.lease_id, waits.change.position) == (fresh.id, 1)
    assert "number 1" in waits.change.words
    site.stop(blocks)
    site.serve()
    told = seen(site, old)
    assert told.seq > waits.seq
    assert told.change is not None
    assert "starts again by itself" in told.change.words
    site.governor.cancel(fresh.id, actor=Actor(kind="user", name="sam"), now=site.now)
    site.serve()
    assert seen(site, old).change is None


def test_what_a_server_could_have_keeps_its_project_and_leaves_out_what_it_has(
    site: Site,
) -> None:
    old = site.run("vera", "small")
    lease = site.lease(old)
    person = Person(user=old.key.user, groups=GROUPS["vera"])
    found = sheet(lease, site.governor.offers(person, now=site.now))
    assert found.has == old.title
    assert [one.choice.profile for one in found.offers if one.team == lease.team] == [
        "cpu",
        "one",
        "two",
    ]
    assert {one.choice.project for one in found.offers} <= {lease.project, None}
    assert all(one.words and one.standing_text and one.price_text for one in found.offers)


def test_the_form_knows_of_servers_that_run(site: Site) -> None:
    old = site.run("vera", "small")
    person = Person(user=old.key.user, groups=GROUPS["vera"])
    (one,) = site.governor.offers(person, now=site.now).running
    assert (one.lease_id, one.has) == (old.lease_id, old.title)
    site.stop(old)
    assert site.governor.offers(person, now=site.now).running == ()


def test_one_change_at_a_time(site: Site) -> None:
    old = site.run("vera", "small")
    switch(site, old, "one")
    with pytest.raises(RefusedError) as refusal:
        switch(site, old, "cpu")
    assert refusal.value.code == "change-under-way"


def test_the_record_stays_whole(site: Site) -> None:
    old = site.run("vera", "small")
    switch(site, old, "one")
    site.serve()
    url = site.settings.ledger_url or None
    assert examine(place(site.state, url)).difference == ""
    site.later(NOTICE_S)
    site.serve()
    site.stop(old)
    assert examine(place(site.state, url)).difference == ""
