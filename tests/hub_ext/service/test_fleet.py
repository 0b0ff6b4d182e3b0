"""Where all that is installed went, as stories: held, out of service, held by nobody.

The pool `whole` has three GPUs at 3.60 an hour each: 1 000 micro-euros a second.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Actor
from hub_ext.lease.fleet import FleetRow, FleetSheet
from hub_ext.policy.load import loads
from hub_ext.service.devices.maintaining import Announcement
from tests.support.governing import POLICY, START, Site, site_in

ADA = Actor(kind="user", name="ada", admin=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as opened:
        yield opened


def fleet(site: Site) -> FleetSheet:
    made = site.governor.fleet(START, START + timedelta(days=30), now=site.now)
    for row in (*made.rows, made.total):
        parts = row.held_unit_s + row.site_unit_s + row.out_unit_s + row.unallocated_unit_s
        assert parts == row.installed_unit_s + row.beyond_unit_s
    return made


def whole(made: FleetSheet) -> FleetRow:
    (row,) = [one for one in made.rows if one.pool == "whole"]
    return row


def seconds(row: FleetRow) -> tuple[int, int, int, int, int]:
    """GPU-seconds installed, held, out, unallocated and beyond."""
    return (
        row.installed_unit_s // 840,
        row.held_unit_s // 840,
        row.out_unit_s // 840,
        row.unallocated_unit_s // 840,
        row.beyond_unit_s // 840,
    )


def test_what_nobody_held_is_a_line_with_its_price(site: Site) -> None:
    grant = site.run("vera")
    site.later(100)
    site.stop(grant)
    site.later(100)
    made = fleet(site)
    row = whole(made)
    assert seconds(row) == (600, 100, 0, 500, 0)
    assert [one.micro for one in row.charged] == [100_000]
    assert [one.micro for one in row.unallocated_amounts] == [500_000]
    assert made.difference == ""
    # Three slices at 0.72 an hour are 200 micro-euros a second each.
    (mig,) = [one for one in made.rows if one.pool == "mig"]
    assert [one.micro for one in mig.unallocated_amounts] == [200 * 3 * 200]


def test_a_device_out_of_service_is_no_loss_of_the_teams_nor_held_by_nobody(site: Site) -> None:
    grant = site.run("vera")
    site.later(100)
    site.governor.take_out(grant.devices[0].id, reason="it smells", actor=ADA, now=site.now)
    site.later(50)
    site.stop(grant)
    site.later(30)
    site.governor.bring_back(grant.devices[0].id, reason="it does not", actor=ADA, now=site.now)
    site.later(20)
    # While the lease has it, it is held; from its end until it is back it is out.
    assert seconds(whole(fleet(site))) == (600, 150, 30, 420, 0)


def test_a_lease_that_has_a_device_to_the_end_keeps_it_held(site: Site) -> None:
    grant = site.run("vera")
    site.governor.take_out(grant.devices[0].id, reason="it smells", actor=ADA, now=site.now)
    site.later(100)
    assert seconds(whole(fleet(site))) == (300, 100, 0, 200, 0)
    site.governor.bring_back(grant.devices[0].id, reason="it does not", actor=ADA, now=site.now)
    site.later(100)
    site.stop(grant)
    assert seconds(whole(fleet(site))) == (600, 200, 0, 400, 0)


def test_maintenance_begins_and_ends_by_the_clock(site: Site) -> None:
    wanted = Announcement(
        place="pool",
        name="whole",
        start=site.now + timedelta(seconds=100),
        end=site.now + timedelta(seconds=400),
    )
    site.governor.announce(wanted, reason="new cables", actor=ADA, now=site.now)
    site.later(1000)
    assert seconds(whole(fleet(site))) == (3000, 0, 900, 2100, 0)


def test_a_pool_that_grows_and_shrinks_is_counted_day_by_day(site: Site) -> None:
    grants = [site.run("vera"), site.run("sam", "two")]
    site.later(100)
    small = POLICY.replace("name: node-2, gpus: 3", "name: node-2, gpus: 2").replace(
        'whole: {nominal: "2"}', 'whole: {nominal: "1"}'
    )
    site.governor.set_policy(loads(small), now=site.now)
    site.later(100)
    made = fleet(site)
    # Three are held beside two that are declared: the third began before.
    assert seconds(whole(made)) == (500, 600, 0, 0, 100)
    assert made.difference == ""
    for one in grants:
        site.stop(one)
    site.later(100)
    assert seconds(whole(fleet(site))) == (700, 600, 0, 200, 100)


def test_a_pool_without_a_price_is_time_and_no_money(tmp_path: Path) -> None:
    unpriced = POLICY.replace(
        '  - {pool: mig, flavor: 1g.18gb, from: 2026-01-01, per_hour: "0.72"}\n', ""
    )
    with site_in(tmp_path / "state", policy=unpriced) as site:
        site.later(100)
        (mig,) = [one for one in fleet(site).rows if one.pool == "mig"]
        assert mig.unallocated_amounts == ()
        assert mig.unallocated_unpriced_unit_s == mig.unallocated_unit_s
