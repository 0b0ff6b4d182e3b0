"""Clocks that are wrong: no busy server is stopped for old readings, and the admin hears of it."""

from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import (
    GOVERNOR,
    Cause,
    ClockOffset,
    DeviceSample,
    Grant,
    LeaseState,
    Posting,
    ProcessSample,
    Reason,
    SampleBatch,
)
from hub_ext.service.workers.cull import Culler
from tests.support.governing import START, Site, site_in

PERIOD_S = 5.0


def read(
    site: Site, grant: Grant, *, util: int, ahead_s: int, clock: ClockOffset | None = None
) -> None:
    """Let an agent whose clock is wrong by so much report, and let the governor judge."""
    at = site.now + timedelta(seconds=ahead_s)
    [device] = site.lease(grant).devices
    site.governor.take_samples(
        SampleBatch(
            node=device.node,
            source="nvml",
            sent_at=at,
            period_s=PERIOD_S,
            devices=(
                DeviceSample(
                    device=device.id,
                    at=at,
                    util_percent=util,
                    memory_used_bytes=0,
                    memory_total_bytes=1,
                ),
            ),
            processes=(ProcessSample(lease_id=grant.lease_id, at=at, cpu_millis=0, processes=1),),
            clock=clock,
        ),
        now=site.now,
    )
    Culler().look(site.governor, grant.lease_id, site.now)


def agents(site: Site) -> str:
    return "; ".join(site.governor.problems(now=site.now)["agents"])


@pytest.mark.parametrize("ahead_s", [3, 60, 290])
def test_quiet_readings_of_a_fast_clock_never_stop_a_server_that_is_busy_now(
    tmp_path: Path, ahead_s: int
) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        for util, span_s in ((0, 895), (95, 600)):
            until = site.now + timedelta(seconds=span_s)
            while site.now < until:
                site.later(PERIOD_S)
                read(site, grant, util=util, ahead_s=ahead_s)
        assert site.lease(grant).state is LeaseState.running
        assert f"node-2: its clock is {ahead_s} s ahead" in agents(site)


def test_a_clock_that_is_right_stops_what_is_idle_and_is_not_spoken_of(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        while site.lease(grant).state is not LeaseState.stopping:
            site.later(PERIOD_S)
            read(site, grant, util=0, ahead_s=1)
            assert "clock" not in agents(site)


def test_a_slow_clock_is_told_too(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        read(site, grant, util=0, ahead_s=-60)
        assert "node-2: its clock is 60 s behind" in agents(site)


def measured(ahead_s: int) -> ClockOffset:
    """Give what an agent finds whose clock is ahead by so much."""
    return ClockOffset(offset_ms=-1000 * ahead_s, within_ms=20)


@pytest.mark.parametrize("ahead_s", [-60, 3])
def test_a_measured_offset_is_put_right_so_that_idle_is_seen_in_time(
    tmp_path: Path, ahead_s: int
) -> None:
    with site_in(tmp_path) as right, site_in(tmp_path / "wrong") as wrong:
        ends = []
        for site, off_s in ((right, 0), (wrong, ahead_s)):
            grant = site.run("vera")
            while site.lease(grant).state is not LeaseState.stopping:
                site.later(PERIOD_S)
                read(site, grant, util=0, ahead_s=off_s, clock=measured(off_s))
            ends.append(site.now)
        assert ends[0] == ends[1]
        assert "clock" not in agents(right)
        direction = "ahead" if ahead_s > 0 else "behind"
        assert f"its clock is {abs(ahead_s)} s {direction}; its readings are put" in agents(wrong)


@pytest.mark.parametrize("ahead_s", [-61, 3600])
def test_figures_of_a_wild_clock_are_unknown_and_its_machine_is_named(
    tmp_path: Path, ahead_s: int
) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        [device] = site.lease(grant).devices
        until = site.now + timedelta(minutes=30)
        while site.now < until:
            site.later(PERIOD_S)
            read(site, grant, util=0, ahead_s=ahead_s, clock=measured(ahead_s))
        assert site.lease(grant).state is LeaseState.running, "nobody knows that it is idle"
        assert site.governor.readings(grant.lease_id, START, now=site.now).devices == ((),)
        assert f"{device.node}: its clock is {abs(ahead_s)} s" in agents(site)
        assert "so its figures are unknown" in agents(site)


def test_an_offset_below_what_it_is_known_to_changes_nothing(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        read(site, grant, util=7, ahead_s=0, clock=ClockOffset(offset_ms=1500, within_ms=1600))
        [[one]] = site.governor.readings(grant.lease_id, START, now=site.now).devices
        assert one.at == site.now
        assert "clock" not in agents(site)


def posted(site: Site) -> tuple[Posting, ...]:
    day = timedelta(days=9)
    with site.ledger.transaction() as tx:
        return tx.postings(start=START - day, end=START + day)


def test_a_governors_clock_that_is_set_back_breaks_nothing_and_charges_nobody_below_zero(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("vera")
        site.later(-3 * 3600)
        view = site.governor.view_of(grant.lease_id, now=site.now)
        assert (view.cost.so_far_micro if view.cost else None) in (0, None)
        Culler().look(site.governor, grant.lease_id, site.now)
        site.governor.extend(grant.lease_id, seconds=60, actor=GOVERNOR, now=site.now)
        site.governor.ask_stop(
            grant.lease_id,
            cause=Cause.user,
            reason=Reason(code="asked", message="asked"),
            actor=GOVERNOR,
            now=site.now,
        )
        site.stop(grant)
        [line] = posted(site)
        assert (line.seconds, line.amount_micro) == (0, 0)
        assert site.lease(grant).state is LeaseState.closed
        assert site.held() == []


def test_a_lease_of_no_length_is_priced_and_free_and_not_without_a_price(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        grant = site.ask(site.asking("vera"))
        site.later(60)
        site.governor.close_lost(grant.lease_id, now=site.now)
        [line] = posted(site)
        assert (line.seconds, line.price_micro_per_hour, line.amount_micro) == (0, 3_600_000, 0)
