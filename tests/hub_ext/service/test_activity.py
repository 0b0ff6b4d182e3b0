"""What a server says of itself: on our clock, for a few minutes, for its own lease alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Activity, Grant, OpenLease
from hub_ext.service.books.activity import STALE, Activities
from tests.support.governing import Site, site_in

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def said(at: datetime, **instants: Any) -> Activity:
    return Activity(at=at, kernels=1, kernels_busy=1, **instants)


def running(site: Site, user: str = "vera") -> OpenLease:
    grant: Grant = site.run(user)
    return site.lease(grant)


def test_instants_are_put_on_the_clock_of_who_hears_them() -> None:
    theirs = NOW + timedelta(hours=3)
    told = said(theirs, busy_since=theirs - 20 * MINUTE, input_at=theirs - MINUTE)
    heard = told.heard(NOW)
    assert (heard.at, heard.busy_since, heard.input_at) == (NOW, NOW - 20 * MINUTE, NOW - MINUTE)
    assert heard.output_at is None


def test_input_that_is_set_ahead_counts_as_of_now_and_no_later() -> None:
    heard = said(NOW, input_at=NOW + 58 * MINUTE).heard(NOW)
    assert heard.input_at == NOW


def test_the_ends_of_time_are_no_fault() -> None:
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert said(first, input_at=last).heard(NOW).input_at == NOW
    assert said(last, busy_since=first).heard(NOW).busy_since == NOW - timedelta(days=366)


def test_more_busy_kernels_than_kernels_are_refused() -> None:
    with pytest.raises(ValueError, match="more kernels are busy"):
        Activity(at=NOW, kernels=1, kernels_busy=2)


def test_the_newest_word_holds_for_three_minutes(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        lease, heard = running(site), Activities()
        heard.take(lease.key, said(site.now), now=site.later(10))
        assert heard.of(lease, site.now) is not None
        assert heard.of(lease, site.now + STALE) is not None
        assert heard.of(lease, site.now + STALE + timedelta(seconds=1)) is None


def test_another_server_and_an_earlier_one_of_the_name_say_nothing_of_a_lease(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path) as site:
        heard = Activities()
        grant = site.run("vera")
        heard.take(grant.key, said(site.now), now=site.now)
        other = site.run("sam")
        assert heard.of(site.lease(other), site.now) is None
        site.stop(grant)
        site.later(20)
        again = running(site)
        assert again.key == grant.key
        assert heard.of(again, site.now) is None


def test_what_comes_too_fast_is_refused_and_the_former_word_stands(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        lease, heard = running(site), Activities()
        heard.take(lease.key, said(NOW, input_at=NOW), now=NOW)
        with pytest.raises(RefusedError, match="less than 2 seconds ago") as refused:
            heard.take(lease.key, said(NOW), now=NOW + timedelta(seconds=1))
        assert (refused.value.status, refused.value.retry_after_s) == (429, 2)
        kept = heard.of(lease, NOW + timedelta(seconds=1))
        assert kept is not None
        assert kept.input_at == NOW
        heard.take(lease.key, said(NOW), now=NOW + timedelta(seconds=2))


def test_servers_that_fell_silent_are_forgotten(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        first, second, heard = running(site), running(site, "sam"), Activities()
        heard.take(first.key, said(NOW), now=NOW)
        heard.take(second.key, said(NOW), now=NOW + 2 * MINUTE)
        assert len(heard) == 2
        heard.take(second.key, said(NOW), now=NOW + 5 * MINUTE)
        assert len(heard) == 1


def test_the_core_keeps_it_under_its_own_hubs_name(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        lease = running(site)
        elsewhere = lease.key.model_copy(update={"hub": "another"})
        site.governor.take_activity(elsewhere, said(site.now), now=site.now)
        assert site.governor._desk.activity.of(lease, site.now) is not None
