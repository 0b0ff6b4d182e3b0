"""Readings that come after the governor was away: kept for who held the device, and never news."""

from datetime import timedelta
from pathlib import Path

from hub_ext.lease import DeviceSample, Grant, Inventory, SampleBatch
from tests.support.governing import Site, site_in

PERIOD_S = 10.0


def late(site: Site, grant: Grant, *, ago_s: int, util: int = 50) -> SampleBatch:
    [device] = site.lease(grant).devices
    at = site.now - timedelta(seconds=ago_s)
    return SampleBatch(
        node=device.node,
        source="nvml",
        sent_at=at,
        period_s=PERIOD_S,
        late=True,
        inventory=Inventory(node=device.node, source="nvml", at=at, devices=()),
        devices=(
            DeviceSample(
                device=device.id,
                at=at,
                util_percent=util,
                memory_used_bytes=0,
                memory_total_bytes=1,
            ),
        ),
    )


def seconds(site: Site, grant: Grant) -> int:
    used = site.governor._desk.samples.used(site.now - timedelta(hours=2), site.now)
    return used[grant.lease_id].sampled_s if grant.lease_id in used else 0


def test_the_gap_is_filled_once_for_the_lease_that_held_the_device(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        site.later(600)
        before = seconds(site, grant)
        for ago_s in (300, 290, 280, 280, 300):
            site.governor.take_samples(late(site, grant, ago_s=ago_s), now=site.now)
        assert seconds(site, grant) - before == 30


def test_what_was_before_a_lease_is_not_its_own(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        site.later(600)
        grant = site.run("vera")
        site.later(60)
        before = seconds(site, grant)
        site.governor.take_samples(late(site, grant, ago_s=300), now=site.now)
        assert seconds(site, grant) == before


def test_a_late_batch_says_nothing_of_which_devices_there_are_or_whether_an_agent_lives(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        devices = site.governor.devices(now=site.now)
        [held] = site.lease(grant).devices
        told_at = site.governor._desk.floor.told_at(held.node)
        site.later(5)
        site.governor.take_samples(late(site, grant, ago_s=30), now=site.now)
        assert site.governor.devices(now=site.now) == devices
        assert site.governor._desk.floor.told_at(held.node) == told_at
