"""Who was called in waits again in the old place, by one press, and nobody else does."""

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, Cause, Grant, LeaseState, OpenLease, When
from tests.hub_ext.service.test_calling_in import NOTICE_S, called_in, review
from tests.support.governing import GROUPS, Site

VIKTOR = Actor(kind="user", name="viktor", groups=GROUPS["viktor"])


def stopped(site: Site) -> tuple[Grant, OpenLease]:
    borrowed, owner = called_in(site)
    site.later(NOTICE_S)
    review(site)
    site.stop(borrowed)
    return borrowed, owner


def again(site: Site, grant: Grant) -> OpenLease:
    return site.governor.ask_again(
        grant.lease_id, When.start, groups=GROUPS["viktor"], actor=VIKTOR, now=site.now
    )


def test_it_waits_in_the_place_that_it_had(site: Site) -> None:
    borrowed, _owner = stopped(site)
    assert site.lease(borrowed).cause is Cause.preempted
    site.later(60)
    fresh = again(site, borrowed)
    assert fresh.state is LeaseState.queued
    assert fresh.requested_at == site.lease(borrowed).requested_at
    assert (fresh.key, fresh.profile, fresh.team) == (borrowed.key, "one", "vision")
    later = site.waits("vera", server="more")
    tickets = site.governor.tickets(lambda one: one.team == "vision", now=site.now)
    places = {ticket.lease_id: ticket.position or 0 for ticket in tickets}
    assert places[fresh.id] < places[later.id]


def test_it_is_held_for_as_soon_as_it_may_borrow_again(site: Site) -> None:
    borrowed, owner = stopped(site)
    fresh = again(site, borrowed)
    site.serve()
    came = site.ask(site.asking("sue"))
    assert came.lease_id == owner.id
    site.started(came)
    site.stop(came)
    site.serve()
    assert site.now_is(fresh).state is LeaseState.held
    granted = site.ask(site.asking("viktor"))
    assert granted.lease_id == fresh.id


def test_twice_is_once(site: Site) -> None:
    borrowed, _owner = stopped(site)
    again(site, borrowed)
    with pytest.raises(RefusedError) as refusal:
        again(site, borrowed)
    assert refusal.value.code == "not-again"


def test_not_while_it_runs_nor_after_another_end(site: Site) -> None:
    grant = site.run("viktor")
    with pytest.raises(RefusedError):
        again(site, grant)
    site.stop(grant)
    with pytest.raises(RefusedError):
        again(site, grant)


def test_not_once_the_server_has_had_another_start(site: Site) -> None:
    borrowed, owner = stopped(site)
    site.governor.cancel(owner.id, actor=VIKTOR, now=site.now)
    site.stop(site.run("viktor"))
    assert not site.governor.dossier(borrowed.lease_id, now=site.now).may_ask_again


def test_the_page_is_told_that_it_can(site: Site) -> None:
    borrowed, _owner = stopped(site)
    assert site.governor.dossier(borrowed.lease_id, now=site.now).may_ask_again
    again(site, borrowed)
    assert not site.governor.dossier(borrowed.lease_id, now=site.now).may_ask_again


def test_who_has_left_the_team_hears_so(site: Site) -> None:
    borrowed, _owner = stopped(site)
    with pytest.raises(RefusedError):
        site.governor.ask_again(
            borrowed.lease_id, When.start, groups=(), actor=VIKTOR, now=site.now
        )
