"""The wall clock is set while servers run: it is noticed, recorded, and charged to nobody."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Grant
from hub_ext.ledger.store import FILE
from hub_ext.ledger.verify import verify
from hub_ext.metering import WAIVED
from hub_ext.service.basis.clockwatch import ClockWatch
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from tests.support.governing import START, Site, site_in


class Clocks:
    """A wall clock that can be set, and one that only goes on."""

    def __init__(self) -> None:
        self.wall = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self.steady_s = 1000.0
        self.slow_s = 0.0

    def later(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.steady_s += seconds

    def set(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)

    def read(self) -> datetime:
        self.steady_s += self.slow_s
        return self.wall


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def watch(clocks: Clocks) -> ClockWatch:
    return ClockWatch(clocks.read, lambda: clocks.steady_s)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site
        assert verify(site.state / FILE).difference == ""


def test_time_that_passes_is_no_step(clocks: Clocks, watch: ClockWatch) -> None:
    for seconds in (0, 1, 3600, 86400):
        clocks.later(seconds)
        assert watch.read() == (clocks.wall, timedelta(0))


@pytest.mark.parametrize("seconds", [3600, -3600, 2.5, -2.5])
def test_a_step_is_told_once(clocks: Clocks, watch: ClockWatch, seconds: float) -> None:
    watch.read()
    clocks.later(10)
    clocks.set(seconds)
    assert watch.read() == (clocks.wall, timedelta(seconds=seconds))
    assert watch.read() == (clocks.wall, timedelta(0))


def test_a_clock_that_is_slewed_is_never_set(clocks: Clocks, watch: ClockWatch) -> None:
    for _second in range(100):
        clocks.later(1)
        clocks.set(0.5)
        assert watch.read()[1] == timedelta(0)


def test_a_sleep_between_the_two_readings_is_no_step(clocks: Clocks, watch: ClockWatch) -> None:
    watch.read()
    clocks.slow_s = 60
    assert watch.read()[1] == timedelta(0)
    clocks.slow_s = 0
    clocks.wall += timedelta(seconds=60)
    assert watch.read()[1] == timedelta(0)


def charged(site: Site, grant: Grant) -> dict[str, int]:
    with site.ledger.transaction() as tx:
        lines = tx.postings(start=START - timedelta(days=9), end=START + timedelta(days=9))
    found: dict[str, int] = {}
    for line in lines:
        if line.lease_id == grant.lease_id:
            found[line.team] = found.get(line.team, 0) + line.seconds
    return found


def set_clock(site: Site, seconds: float) -> None:
    site.later(seconds)
    site.governor.clock_stepped(timedelta(seconds=seconds), now=site.now)
    site.report_devices()


def test_a_step_forward_is_charged_to_nobody(site: Site) -> None:
    grant = site.run("sam")
    site.later(100)
    set_clock(site, 3600)
    late = site.run("sue")
    site.later(50)
    site.stop(grant)
    site.stop(late)
    assert charged(site, grant) == {"speech": 150, WAIVED: 3600}
    assert charged(site, late) == {"speech": 50}


def test_a_step_forward_that_mends_one_back_is_none(site: Site) -> None:
    grant = site.run("sam")
    site.later(100)
    set_clock(site, -3600)
    site.later(50)
    set_clock(site, 3600)
    site.later(50)
    site.stop(grant)
    assert charged(site, grant) == {"speech": 200}, "as long as it really lived"


def test_a_step_forward_that_more_than_mends_counts_for_the_rest(site: Site) -> None:
    grant = site.run("sam")
    site.later(100)
    set_clock(site, -60)
    set_clock(site, 100)
    site.later(50)
    site.stop(grant)
    assert charged(site, grant) == {"speech": 150, WAIVED: 40}


def test_a_step_back_is_never_in_the_sites_favour(site: Site) -> None:
    grant = site.run("sam")
    site.later(7200)
    set_clock(site, -3600)
    site.later(50)
    site.stop(grant)
    assert charged(site, grant) == {"speech": 3650}, "the hour that ran twice is charged once"


def test_the_runner_records_a_step_before_the_act_that_follows(site: Site) -> None:
    clocks = Clocks()
    clocks.wall = site.now
    grant = site.run("sam")

    async def story() -> None:
        core = CoreRunner(
            site.governor,
            clocks.read,
            Stream(8),
            watch=ClockWatch(clocks.read, lambda: clocks.steady_s),
        )
        await core.run(lambda _governor, _now: None)
        clocks.later(10)
        clocks.set(500)
        lease = await core.run(lambda governor, _now: governor.lease(grant.lease_id))
        assert lease is not None
        assert [one.end for one in lease.waived] == [clocks.wall]

    asyncio.run(story())
    with site.ledger.transaction() as tx:
        [(_seq, event)] = tx.events(kinds=("clock.stepped",))
    assert event.body["step_ms"] == 500_000
    site.now = clocks.wall
    site.stop(grant)
    assert charged(site, grant) == {"speech": 10, WAIVED: 500}
