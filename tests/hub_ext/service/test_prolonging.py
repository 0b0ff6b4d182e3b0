"""An administrator lets one lease live longer; what is announced for its devices still holds."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, LeaseState
from hub_ext.service.devices.maintaining import Announcement
from hub_ext.service.workers.cull import Culler
from tests.support.governing import START, Site, site_in

ROOT = Actor(kind="user", name="root", admin=True)
HOUR = timedelta(hours=1)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site


def by(site: Site) -> dict[str, Any]:
    return {"reason": "the fit takes longer", "actor": ROOT, "now": site.now}


def cull(site: Site, lease_id: str) -> None:
    for one in site.governor.leases():
        if one.id == lease_id:
            Culler().look(site.governor, one.id, site.now)


def test_it_lives_beyond_its_longest_life_and_its_owner_reads_why(site: Site) -> None:
    grant = site.run("vera")
    site.later(55 * 60)
    cull(site, grant.lease_id)
    assert site.lease(grant).state is LeaseState.noticed
    site.governor.prolong(grant.lease_id, START + 30 * HOUR, **by(site))
    lease = site.lease(grant)
    assert (lease.state, lease.ends_at) == (LeaseState.running, START + 30 * HOUR)
    assert lease.reason is not None
    assert "Administrator root lets this server live until 2026-12-01 15:00" in lease.reason.message
    assert "the fit takes longer" in lease.reason.message
    site.now = START + 29 * HOUR
    cull(site, grant.lease_id)
    assert site.lease(grant).state is LeaseState.running
    site.now = START + 29.9 * HOUR
    cull(site, grant.lease_id)
    assert site.lease(grant).state is LeaseState.noticed


def test_maintenance_of_its_devices_bounds_it(site: Site) -> None:
    grant = site.run("vera")
    planned = {"place": "pool", "name": "whole", "start": START + 5 * HOUR, "end": START + 9 * HOUR}
    site.governor.announce(Announcement.model_validate(planned), **by(site))
    with pytest.raises(RefusedError, match="can be extended by 4h at most") as refused:
        site.governor.prolong(grant.lease_id, START + 6 * HOUR, **by(site))
    assert "Maintenance of pool whole" in refused.value.message
    for _again in range(2):
        lease = site.governor.prolong(grant.lease_id, START + 5 * HOUR, **by(site))
        assert lease.ends_at == START + 5 * HOUR


@pytest.mark.parametrize(
    "until", [START - HOUR, START, START + HOUR / 2, START + timedelta(days=400)], ids=str
)
def test_an_end_that_is_none_is_refused(site: Site, until: datetime) -> None:
    grant = site.run("vera")
    with pytest.raises(RefusedError, match="no earlier than the present one"):
        site.governor.prolong(grant.lease_id, until, **by(site))


def test_what_has_ended_lives_no_longer(site: Site) -> None:
    grant = site.run("vera")
    site.stop(grant)
    with pytest.raises(RefusedError, match="has ended"):
        site.governor.prolong(grant.lease_id, START + 9 * HOUR, **by(site))
