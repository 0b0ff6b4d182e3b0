"""The wall clock is set: nobody is stopped unannounced, charged backwards, or lost."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Cause, Grant, LeaseState
from hub_ext.ledger.store import FILE
from hub_ext.ledger.verify import verify
from hub_ext.service.workers.cull import Culler
from tests.support.governing import START, Site, site_in


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site
        assert verify(site.state / FILE).difference == ""


def cull(site: Site, grant: Grant) -> None:
    Culler().look(site.governor, grant.lease_id, site.now)


def charged(site: Site, grant: Grant) -> tuple[int, int]:
    """Seconds and micro-euros on the books."""
    with site.ledger.transaction() as tx:
        lines = tx.postings(start=START - timedelta(days=9), end=START + timedelta(days=9))
    mine = [line for line in lines if line.lease_id == grant.lease_id]
    assert all(line.seconds >= 0 and (line.amount_micro or 0) >= 0 for line in mine)
    return sum(line.seconds for line in mine), sum(line.amount_micro or 0 for line in mine)


@pytest.mark.parametrize("hours", [1, 30])
def test_set_back_everything_goes_on_and_nothing_is_charged_backwards(
    site: Site, hours: int
) -> None:
    before = site.run("sam")
    site.later(600)
    site.governor.look(before.lease_id, now=site.now)
    site.later(-3600 * hours)
    site.report_devices()
    cull(site, before)
    assert site.lease(before).state is LeaseState.running
    after = site.run("vera")
    assert not {one.id for one in before.devices} & {one.id for one in after.devices}
    site.stop(before)
    assert site.lease(before).state is LeaseState.closed
    assert charged(site, before) == (0, 0), "never in the site's favour"
    site.later(60)
    site.stop(after)
    assert charged(site, after) == (60, 60_000)


def test_set_forward_nobody_is_stopped_without_a_notice(site: Site) -> None:
    grant = site.run("sam")
    site.later(86400)
    site.report_devices()
    cull(site, grant)
    noticed = site.lease(grant)
    assert noticed.state is LeaseState.noticed
    assert noticed.notice is not None
    assert noticed.notice.stops_at == site.now + timedelta(minutes=10)
    assert "nobody could tell you" in noticed.notice.reason.message
    site.later(599)
    cull(site, grant)
    assert site.lease(grant).state is LeaseState.noticed
    site.later(1)
    cull(site, grant)
    assert (site.lease(grant).state, site.lease(grant).cause) == (
        LeaseState.stopping,
        Cause.expired,
    )


def test_set_forward_and_back_a_server_that_lives_is_never_lost(site: Site) -> None:
    grant = site.run("sam")
    for step in (86400, -86400, 3600, -7200):
        site.later(step)
        site.report_devices()
        site.governor.look(grant.lease_id, now=site.now)
        cull(site, grant)
        assert site.lease(grant).state in {LeaseState.running, LeaseState.noticed}
    assert len(site.held()) == 1


def test_devices_of_agents_that_slept_are_not_handed_out_until_they_report(site: Site) -> None:
    site.later(86400)
    assert site.governor.devices(now=site.now) == ()
    assert "agents" in {one.code for one in site.governor.health(now=site.now).problems}
    site.report_devices()
    assert site.governor.health(now=site.now).status == "ok"
    site.run("sam")
