"""The form tells a person that a smaller profile would do, by what their own leases needed."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import DeviceSample, Offer, SampleBatch, UserName
from hub_ext.policy.catalogue import Person
from tests.support.governing import Site, site_in

GIB = 2**30
VERA = Person(user=UserName("vera"), groups=("vision",))
VIKTOR = Person(user=UserName("viktor"), groups=("vision",))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path) as site:
        yield site


def works(site: Site, user: str, *, memory_gib: int = 6, busy: int = 10, times: int = 3) -> None:
    """Hold a whole GPU for an hour each time, read every six minutes."""
    for _n in range(times):
        site.report_devices()
        grant = site.run(user)
        for _reading in range(10):
            site.later(360)
            reading = DeviceSample(
                device=grant.devices[0].id,
                at=site.now,
                util_percent=busy,
                memory_used_bytes=memory_gib * GIB,
                memory_total_bytes=140 * GIB,
            )
            batch = SampleBatch(
                node="node-2",
                source="simulated",
                sent_at=site.now,
                period_s=360,
                devices=(reading,),
            )
            site.governor.take_samples(batch, now=site.now)
        site.stop(grant)
    site.governor.look_at_waits(now=site.now)


def offered(site: Site, profile: str, person: Person = VERA) -> Offer:
    site.report_devices()
    found = site.governor.offers(person, now=site.now).offers
    return next(one for one in found if one.profile == profile)


def test_a_smaller_one_is_named_to_whose_leases_would_have_fitted(site: Site) -> None:
    assert offered(site, "one").smaller is None
    works(site, "vera")
    found = offered(site, "one").smaller
    assert found is not None
    assert (found.profile, found.saves_micro_per_hour) == ("small", 2_880_000)
    assert (found.leases, found.measured_s) == (3, 3 * 3600)
    assert found.peak_memory_bytes == 6 * GIB
    assert offered(site, "small").smaller is None
    # What she needed says nothing of anybody else.
    assert offered(site, "one", VIKTOR).smaller is None


def test_one_lease_that_needed_more_ends_it(site: Site) -> None:
    works(site, "vera")
    works(site, "vera", memory_gib=60, times=1)
    assert offered(site, "one").smaller is None


def test_a_busy_hour_ends_it(site: Site) -> None:
    works(site, "vera", busy=40)
    assert offered(site, "one").smaller is None


def test_it_is_read_again_after_a_restart_and_forgotten_after_three_months(site: Site) -> None:
    works(site, "vera")
    site.restart()
    site.governor.look_at_waits(now=site.now)
    assert offered(site, "one").smaller is not None
    site.now += timedelta(days=100)
    assert offered(site, "one").smaller is None
