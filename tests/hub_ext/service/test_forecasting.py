"""When a request starts, as the queue and the form tell it, and what that is learned from."""

from datetime import timedelta

import pytest

from hub_ext.lease import Forecast, Offer, OpenLease, Standing, Ticket, UserName
from hub_ext.policy.catalogue import Person
from hub_ext.service.books import pastleases
from tests.support.governing import GROUPS, Site


def ticket_of(site: Site, lease: OpenLease) -> Ticket:
    (found,) = site.governor.tickets(lambda one: one.id == lease.id, now=site.now)
    return found


def offer_of(site: Site, user: str, profile: str) -> Offer:
    sheet = site.governor.offers(Person(user=UserName(user), groups=GROUPS[user]), now=site.now)
    return next(one for one in sheet.offers if one.profile == profile)


def foreseen(site: Site, lease: OpenLease) -> Forecast:
    site.governor.forecast(now=site.now)
    found = ticket_of(site, lease).forecast
    assert found is not None
    return found


def test_a_ticket_tells_when_it_starts_once_that_is_worked_out(site: Site) -> None:
    site.run("sam", "two")
    mine = site.waits("sue")
    assert ticket_of(site, mine).forecast is None
    found = foreseen(site, mine)
    assert found.earliest is not None
    assert found.latest is not None
    assert site.now <= found.earliest <= found.latest <= site.now + timedelta(hours=2)
    assert "between" in found.words


def test_the_form_tells_it_to_who_would_have_to_wait_and_to_nobody_else(site: Site) -> None:
    site.run("sam", "two")
    site.governor.forecast(now=site.now)
    waits = offer_of(site, "sue", "one")
    assert waits.standing is Standing.would_queue
    assert waits.forecast is not None
    assert waits.forecast.earliest is not None
    assert offer_of(site, "sue", "cpu").forecast is None


def test_it_learns_from_leases_that_ended_how_long_people_stay(site: Site) -> None:
    for _turn in range(13):
        grant = site.run("sam", "two")
        site.later(6 * 60)
        site.stop(grant)
        site.ended(grant)
    site.run("sam", "two")
    mine = site.waits("sue")
    found = foreseen(site, mine)
    assert found.learned == 13
    assert found.latest is not None
    # Of the hour that each declared, each lived a tenth.
    assert found.latest <= site.now + timedelta(minutes=7)


def test_after_a_restart_it_learns_again_a_piece_at_a_look(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pastleases, "PAGE", 4)
    for _turn in range(6):
        grant = site.run("sam", "two")
        site.later(60)
        site.stop(grant)
        site.ended(grant)
    site.run("sam", "two")
    mine = site.waits("sue")
    site.restart()
    counts = []
    for _look in range(5):
        site.later(70)
        counts.append(foreseen(site, mine).learned)
    assert counts == sorted(counts)
    assert (counts[0] < 6, counts[-1]) == (True, 6)


def test_a_start_that_failed_teaches_nothing(site: Site) -> None:
    grant = site.ask(site.asking("sam", "two"))
    process = site.started(grant)
    site.machine.end(process)
    site.ended(grant, asked=False, exit_code=1)
    site.run("sam", "two")
    assert foreseen(site, site.waits("sue")).learned == 0


def test_it_is_made_anew_when_something_changed_or_time_passed(site: Site) -> None:
    site.run("sam", "two")
    site.waits("sue")
    site.governor.forecast(now=site.now)
    assert site.governor.look_ahead(now=site.now) is None
    site.later(61)
    assert site.governor.look_ahead(now=site.now) is not None
    site.governor.forecast(now=site.now)
    site.waits("sue", server="more")
    assert site.governor.look_ahead(now=site.now) is None
    site.later(10)
    assert site.governor.look_ahead(now=site.now) is not None


def test_an_old_forecast_is_not_told(site: Site) -> None:
    site.run("sam", "two")
    mine = site.waits("sue")
    foreseen(site, mine)
    site.later(16 * 60)
    assert ticket_of(site, mine).forecast is None
